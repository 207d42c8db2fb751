-- the first page
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.id_sort
FROM airflow_assets_asset
WHERE airflow_assets_asset.tenant = %s AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s;

-- a page after a cursor
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.updated
FROM airflow_assets_asset FORCE INDEX (ix_airflow_assets_asset_by_updated)
WHERE airflow_assets_asset.tenant = %s AND (airflow_assets_asset.updated < %s OR airflow_assets_asset.updated = %s AND airflow_assets_asset.pk < %s) AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.updated DESC, airflow_assets_asset.pk DESC
 LIMIT %s;

-- of one type
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.id_sort
FROM airflow_assets_asset FORCE INDEX (ix_airflow_assets_asset_by_type)
WHERE airflow_assets_asset.tenant = %s AND airflow_assets_asset.type IN (__[POSTCOMPILE_type_1]) AND (airflow_assets_asset.id_sort > %s OR airflow_assets_asset.id_sort = %s AND airflow_assets_asset.pk > %s) AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s;

-- with deleted assets
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.id_sort
FROM airflow_assets_asset INNER JOIN (SELECT anon_2.pk AS pk
FROM (SELECT airflow_assets_asset.pk AS pk
FROM airflow_assets_asset FORCE INDEX (ix_airflow_assets_asset_by_id)
WHERE airflow_assets_asset.tenant = %s AND (airflow_assets_asset.id_sort > %s OR airflow_assets_asset.id_sort = %s AND airflow_assets_asset.pk > %s) AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s) AS anon_2 UNION ALL SELECT anon_3.pk AS pk
FROM (SELECT airflow_assets_asset.pk AS pk
FROM airflow_assets_asset FORCE INDEX (ix_airflow_assets_asset_by_id)
WHERE airflow_assets_asset.tenant = %s AND (airflow_assets_asset.id_sort > %s OR airflow_assets_asset.id_sort = %s AND airflow_assets_asset.pk > %s) AND airflow_assets_asset.deleted = true ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s) AS anon_3) AS anon_1 ON anon_1.pk = airflow_assets_asset.pk
WHERE airflow_assets_asset.tenant = %s AND (airflow_assets_asset.id_sort > %s OR airflow_assets_asset.id_sort = %s AND airflow_assets_asset.pk > %s) ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s;

-- from a frequent value
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.id_sort
FROM (SELECT start.asset_pk AS asset_pk, start.id_sort AS id_sort
FROM airflow_assets_metadata_value AS start FORCE INDEX (ix_airflow_assets_metadata_value_equal)
WHERE start.field = %s AND start.value_hash = %s) AS anon_1 INNER JOIN airflow_assets_asset ON airflow_assets_asset.pk = anon_1.asset_pk
WHERE airflow_assets_asset.tenant = %s AND (EXISTS (SELECT %s AS anon_2
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.asset_pk = anon_1.asset_pk AND value_0.field = %s AND value_0.tag = %s AND value_0.value_sort >= %s
 LIMIT %s, %s)) AND (anon_1.id_sort > %s OR anon_1.id_sort = %s AND anon_1.asset_pk > %s) AND airflow_assets_asset.deleted = false ORDER BY anon_1.id_sort, anon_1.asset_pk
 LIMIT %s;

-- from a rare value
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.created
FROM (SELECT start.asset_pk AS asset_pk, start.id_sort AS id_sort
FROM airflow_assets_metadata_value AS start
WHERE start.field = %s AND start.value_hash = %s
 LIMIT %s, 18446744073709551615) AS anon_1 INNER JOIN airflow_assets_asset ON airflow_assets_asset.pk = anon_1.asset_pk
WHERE airflow_assets_asset.tenant = %s AND (EXISTS (SELECT %s AS anon_2
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.asset_pk = anon_1.asset_pk AND value_0.field = %s AND value_0.tag = %s AND value_0.value_sort >= %s
 LIMIT %s, %s)) AND (airflow_assets_asset.created > %s OR airflow_assets_asset.created = %s AND airflow_assets_asset.pk > %s) AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.created, airflow_assets_asset.pk
 LIMIT %s;

-- candidates of a pattern
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.id_sort, coalesce(regex_0.value_rest, regex_0.value_sort) AS regex_0
FROM airflow_assets_asset INNER JOIN airflow_assets_metadata_value AS regex_0 ON regex_0.asset_pk = airflow_assets_asset.pk AND regex_0.field = %s AND regex_0.tag = %s
WHERE airflow_assets_asset.tenant = %s AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s;

-- free text
SELECT airflow_assets_asset.pk, airflow_assets_asset.id, airflow_assets_asset.id_sort
FROM airflow_assets_asset
WHERE airflow_assets_asset.tenant = %s AND (instr(replace(lower(airflow_assets_asset.id), %s, %s), %s) > %s OR instr(replace(lower(airflow_assets_asset.display_name), %s, %s), %s) > %s OR instr(replace(lower(airflow_assets_asset.description), %s, %s), %s) > %s) AND airflow_assets_asset.deleted = false ORDER BY airflow_assets_asset.id_sort, airflow_assets_asset.pk
 LIMIT %s;
