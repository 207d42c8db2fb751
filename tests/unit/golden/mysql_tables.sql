CREATE TABLE airflow_assets_asset (
	pk BIGINT NOT NULL AUTO_INCREMENT,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	asset_key VARBINARY(32) NOT NULL,
	id VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	id_sort VARBINARY(255) NOT NULL,
	namespace VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	type VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	display_name VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	description MEDIUMTEXT COLLATE utf8mb4_bin,
	metadata MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	uri VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	asset_group VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	created DATETIME(6) NOT NULL,
	updated DATETIME(6) NOT NULL,
	deleted BOOL NOT NULL,
	lock_until DATETIME(6),
	CONSTRAINT pk_airflow_assets_asset PRIMARY KEY (pk),
	CONSTRAINT uq_airflow_assets_asset_asset_key UNIQUE (asset_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_asset_by_created ON airflow_assets_asset (tenant, deleted, created, pk);

CREATE INDEX ix_airflow_assets_asset_by_id ON airflow_assets_asset (tenant, deleted, id_sort, pk);

CREATE INDEX ix_airflow_assets_asset_by_namespace ON airflow_assets_asset (tenant, deleted, namespace, id_sort, pk);

CREATE INDEX ix_airflow_assets_asset_by_type ON airflow_assets_asset (tenant, deleted, type, id_sort, pk);

CREATE INDEX ix_airflow_assets_asset_by_updated ON airflow_assets_asset (tenant, deleted, updated, pk);

CREATE TABLE airflow_assets_asset_backfill (
	backfill_key VARBINARY(32) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	backfill_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	status VARCHAR(50) NOT NULL,
	definition MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	`keys` MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	run_ids MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	created DATETIME(6) NOT NULL,
	cancel_requested BOOL NOT NULL,
	CONSTRAINT pk_airflow_assets_asset_backfill PRIMARY KEY (backfill_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_asset_backfill_created ON airflow_assets_asset_backfill (tenant, created);

CREATE TABLE airflow_assets_asset_run (
	run_key VARBINARY(32) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	status VARCHAR(20) NOT NULL,
	nodes MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	action VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	job_name VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	partition_key MEDIUMTEXT COLLATE utf8mb4_bin,
	tags MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	priority INTEGER NOT NULL,
	launched_by MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	config MEDIUMTEXT COLLATE utf8mb4_bin,
	started DATETIME(6) NOT NULL,
	ended DATETIME(6),
	completed INTEGER NOT NULL,
	total INTEGER NOT NULL,
	message MEDIUMTEXT COLLATE utf8mb4_bin,
	cancel_requested BOOL NOT NULL,
	CONSTRAINT pk_airflow_assets_asset_run PRIMARY KEY (run_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_asset_run_started ON airflow_assets_asset_run (tenant, started);

CREATE TABLE airflow_assets_consumer (
	kind VARCHAR(20) NOT NULL,
	name VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	seq BIGINT NOT NULL,
	state MEDIUMTEXT COLLATE utf8mb4_bin,
	updated DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_consumer PRIMARY KEY (kind, name)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE TABLE airflow_assets_dynamic_partition (
	pk BIGINT NOT NULL AUTO_INCREMENT,
	definition_key VARBINARY(32) NOT NULL,
	key_hash VARBINARY(16) NOT NULL,
	partition_key MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	CONSTRAINT pk_airflow_assets_dynamic_partition PRIMARY KEY (pk)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE UNIQUE INDEX uq_airflow_assets_dynamic_partition_key ON airflow_assets_dynamic_partition (definition_key, key_hash);

CREATE TABLE airflow_assets_edge (
	edge_key VARBINARY(16) NOT NULL,
	source_pk BIGINT NOT NULL,
	target_pk BIGINT NOT NULL,
	dag_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	task_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	first_seen DATETIME(6) NOT NULL,
	last_seen DATETIME(6) NOT NULL,
	declared BOOL NOT NULL DEFAULT false,
	ended DATETIME(6),
	CONSTRAINT pk_airflow_assets_edge PRIMARY KEY (edge_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_edge_source ON airflow_assets_edge (source_pk, target_pk, ended);

CREATE INDEX ix_airflow_assets_edge_target ON airflow_assets_edge (target_pk, source_pk, ended);

CREATE TABLE airflow_assets_event (
	seq BIGINT NOT NULL,
	event_id VARCHAR(36) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	asset_pk BIGINT NOT NULL,
	kind VARCHAR(20) NOT NULL,
	created DATETIME(6) NOT NULL,
	namespace VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	type VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	payload MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	diff MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	source MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	depth INTEGER NOT NULL,
	suppressed VARCHAR(20),
	CONSTRAINT pk_airflow_assets_event PRIMARY KEY (seq),
	CONSTRAINT uq_airflow_assets_event_event_id UNIQUE (event_id)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_event_created ON airflow_assets_event (created);

CREATE INDEX ix_airflow_assets_event_of_asset ON airflow_assets_event (asset_pk, seq);

CREATE TABLE airflow_assets_firing (
	seq BIGINT NOT NULL,
	firing_id VARCHAR(36) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	kind VARCHAR(20) NOT NULL,
	poll_key VARCHAR(64) NOT NULL,
	created DATETIME(6) NOT NULL,
	repeats BOOL NOT NULL,
	payload MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	CONSTRAINT pk_airflow_assets_firing PRIMARY KEY (seq),
	CONSTRAINT uq_airflow_assets_firing_firing_id UNIQUE (firing_id)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_firing_created ON airflow_assets_firing (created);

CREATE TABLE airflow_assets_followed (
	airflow_event_id BIGINT NOT NULL,
	created DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_followed PRIMARY KEY (airflow_event_id)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_followed_created ON airflow_assets_followed (created);

CREATE TABLE airflow_assets_forced_unlock (
	pk BIGINT NOT NULL AUTO_INCREMENT,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	asset_pk BIGINT NOT NULL,
	lease MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	reason MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	source MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	created DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_forced_unlock PRIMARY KEY (pk)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_forced_unlock_of_asset ON airflow_assets_forced_unlock (asset_pk, pk);

CREATE TABLE airflow_assets_job (
	name VARCHAR(50) NOT NULL,
	owner VARCHAR(100) NOT NULL,
	expires DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_job PRIMARY KEY (name)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE TABLE airflow_assets_lease (
	asset_key VARBINARY(32) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fencing BIGINT NOT NULL,
	queued BOOL NOT NULL,
	owner_key VARBINARY(32),
	owner_type VARCHAR(10),
	dag_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	task_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	map_index INTEGER,
	try_number INTEGER,
	clear_number INTEGER,
	user_name VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	acquired DATETIME(6),
	locked_until DATETIME(6),
	ttl BIGINT,
	hold_after_run BOOL,
	CONSTRAINT pk_airflow_assets_lease PRIMARY KEY (asset_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE TABLE airflow_assets_lineage (
	seq BIGINT NOT NULL,
	record_key VARBINARY(32) NOT NULL,
	bundle SMALLINT NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	dag_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	task_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	map_index INTEGER NOT NULL,
	try_number INTEGER NOT NULL,
	ti_id VARCHAR(36),
	state VARCHAR(20) NOT NULL,
	inputs MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	outputs MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	warnings MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	error MEDIUMTEXT COLLATE utf8mb4_bin,
	start_date DATETIME(6),
	end_date DATETIME(6),
	created DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_lineage PRIMARY KEY (seq)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_lineage_created ON airflow_assets_lineage (created);

CREATE INDEX ix_airflow_assets_lineage_run ON airflow_assets_lineage (dag_id, run_id, seq);

CREATE UNIQUE INDEX uq_airflow_assets_lineage_record ON airflow_assets_lineage (record_key, bundle);

CREATE TABLE airflow_assets_node (
	node_key VARBINARY(32) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	name VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	declared MEDIUMTEXT COLLATE utf8mb4_bin,
	inner_node BOOL NOT NULL,
	last_event VARBINARY(16),
	last_run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	last_time DATETIME(6),
	data_version MEDIUMTEXT COLLATE utf8mb4_bin,
	code_version MEDIUMTEXT COLLATE utf8mb4_bin,
	input_versions MEDIUMTEXT COLLATE utf8mb4_bin,
	CONSTRAINT pk_airflow_assets_node PRIMARY KEY (node_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_node_tenant ON airflow_assets_node (tenant);

CREATE TABLE airflow_assets_node_partition (
	node_key VARBINARY(32) NOT NULL,
	partition_hash VARBINARY(16) NOT NULL,
	partition_key MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	last_event VARBINARY(16),
	last_run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	data_version MEDIUMTEXT COLLATE utf8mb4_bin,
	failed BOOL NOT NULL,
	CONSTRAINT pk_airflow_assets_node_partition PRIMARY KEY (node_key, partition_hash)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE TABLE airflow_assets_poll (
	poll_key VARCHAR(64) NOT NULL,
	kind VARCHAR(20) NOT NULL,
	definition MEDIUMTEXT COLLATE utf8mb4_bin NOT NULL,
	state MEDIUMTEXT COLLATE utf8mb4_bin,
	number BIGINT NOT NULL,
	due DATETIME(6) NOT NULL,
	checked DATETIME(6) NOT NULL,
	fired DATETIME(6),
	last_firing VARCHAR(36),
	error MEDIUMTEXT COLLATE utf8mb4_bin,
	CONSTRAINT pk_airflow_assets_poll PRIMARY KEY (poll_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_poll_checked ON airflow_assets_poll (checked);

CREATE TABLE airflow_assets_purged_asset (
	asset_pk BIGINT NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	asset_key VARBINARY(32) NOT NULL,
	id VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	namespace VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	uri VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	purged DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_purged_asset PRIMARY KEY (asset_pk)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_purged_asset_asset_key ON airflow_assets_purged_asset (asset_key);

CREATE TABLE airflow_assets_sequence (
	name VARCHAR(30) NOT NULL,
	value BIGINT NOT NULL,
	CONSTRAINT pk_airflow_assets_sequence PRIMARY KEY (name)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE TABLE airflow_assets_slot_claim (
	pool_key VARBINARY(32) NOT NULL,
	holder_key VARBINARY(32) NOT NULL,
	run_key VARBINARY(32) NOT NULL,
	run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	step VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	slots INTEGER NOT NULL,
	exclusive BOOL NOT NULL,
	partitions MEDIUMTEXT COLLATE utf8mb4_bin,
	claimed DATETIME(6) NOT NULL,
	expires DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_slot_claim PRIMARY KEY (pool_key, holder_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_slot_claim_of_run ON airflow_assets_slot_claim (run_key);

CREATE TABLE airflow_assets_slot_pool (
	pool_key VARBINARY(32) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	name VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	slot_limit INTEGER NOT NULL,
	lease_seconds INTEGER NOT NULL,
	kind VARCHAR(1) NOT NULL,
	CONSTRAINT pk_airflow_assets_slot_pool PRIMARY KEY (pool_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_slot_pool_tenant ON airflow_assets_slot_pool (tenant);

CREATE TABLE airflow_assets_step_event (
	pk BIGINT NOT NULL AUTO_INCREMENT,
	event_key VARBINARY(16) NOT NULL,
	run_key VARBINARY(32) NOT NULL,
	run_id VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	node_key VARBINARY(32) NOT NULL,
	node VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	step VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	attempt INTEGER NOT NULL,
	event_type VARCHAR(20) NOT NULL,
	partition_key MEDIUMTEXT COLLATE utf8mb4_bin,
	created DATETIME(6) NOT NULL,
	details MEDIUMTEXT COLLATE utf8mb4_bin,
	CONSTRAINT pk_airflow_assets_step_event PRIMARY KEY (pk),
	CONSTRAINT uq_airflow_assets_step_event_event_key UNIQUE (event_key)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_step_event_of_node ON airflow_assets_step_event (node_key, event_type, pk);

CREATE INDEX ix_airflow_assets_step_event_of_run ON airflow_assets_step_event (run_key, pk);

CREATE TABLE airflow_assets_usage (
	lineage_seq BIGINT NOT NULL,
	asset_pk BIGINT NOT NULL,
	`role` VARCHAR(1) NOT NULL,
	created DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_usage PRIMARY KEY (lineage_seq, asset_pk, `role`)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_usage_created ON airflow_assets_usage (created);

CREATE INDEX ix_airflow_assets_usage_of_asset ON airflow_assets_usage (asset_pk, lineage_seq);

CREATE TABLE airflow_assets_waiter (
	asset_key VARBINARY(32) NOT NULL,
	wait_id VARCHAR(36) NOT NULL,
	owner_key VARBINARY(32) NOT NULL,
	since DATETIME(6) NOT NULL,
	seen DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_waiter PRIMARY KEY (asset_key, wait_id)
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_waiter_wait_id ON airflow_assets_waiter (wait_id);

CREATE TABLE airflow_assets_alias (
	alias_key VARBINARY(32) NOT NULL,
	tenant VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	id VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	asset_pk BIGINT NOT NULL,
	created DATETIME(6) NOT NULL,
	CONSTRAINT pk_airflow_assets_alias PRIMARY KEY (alias_key),
	CONSTRAINT fk_airflow_assets_alias_asset_pk FOREIGN KEY(asset_pk) REFERENCES airflow_assets_asset (pk) ON DELETE CASCADE
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_alias_asset_pk ON airflow_assets_alias (asset_pk);

CREATE TABLE airflow_assets_metadata_value (
	asset_pk BIGINT NOT NULL,
	field VARCHAR(250) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	tag VARCHAR(1) NOT NULL,
	value_sort VARBINARY(255) NOT NULL,
	value_hash VARBINARY(16) NOT NULL,
	value_rest MEDIUMBLOB,
	id_sort VARBINARY(255) NOT NULL,
	CONSTRAINT pk_airflow_assets_metadata_value PRIMARY KEY (asset_pk, field),
	CONSTRAINT fk_airflow_assets_metadata_value_asset_pk FOREIGN KEY(asset_pk) REFERENCES airflow_assets_asset (pk) ON DELETE CASCADE
)CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC COLLATE utf8mb4_bin;

CREATE INDEX ix_airflow_assets_metadata_value_equal ON airflow_assets_metadata_value (field, value_hash, id_sort, asset_pk);

CREATE INDEX ix_airflow_assets_metadata_value_range ON airflow_assets_metadata_value (field, tag, value_sort, asset_pk);
