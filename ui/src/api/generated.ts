// Written by scripts/write_ui_client.py from docs/openapi.yaml; do not edit.

export type AcquireLeases = {
  assetIds: string[];
  ttl?: string;
  scope?: LeaseScope;
  holdAfterRun?: boolean;
  waitId?: string | null;
};

export type Aggregate = "COUNT" | "COUNT_DISTINCT";

export type Asset = {
  id: string;
  type: string;
  namespace: string | null;
  displayName: string | null;
  description: string | null;
  metadata: Record<string, unknown>;
  uri: string | null;
  group: string | null;
  tenantId: string;
  created: string;
  updated: string;
  deleted: boolean;
  aliases?: string[];
  freshness?: Freshness | null;
  lock?: Lease | null;
};

export type AssetBackfill = {
  backfillId: string;
  status: string;
  definition: Record<string, unknown>;
  keys: Record<string, string>;
  runIds?: string[];
  cancelRequested?: boolean;
};

export type AssetBackfillQuery = {
  backfillId?: string | null;
  limit?: number;
};

export type AssetBackfills = {
  items: AssetBackfill[];
};

export type AssetInput = {
  id: string;
  type?: string | null;
  namespace?: string | null;
  displayName?: string | null;
  description?: string | null;
  metadata?: Record<string, unknown> | null;
  uri?: string | null;
  group?: string | null;
};

export type AssetNode = {
  name: string;
  tags: string[];
  kinds: string[];
  group: string | null;
  codeVersion: string | null;
  pools: [string, number][];
  inner: boolean;
  lastEvent: string | null;
  lastRunId: string | null;
  lastTime: string | null;
  dataVersion: string | null;
  materializedCodeVersion: string | null;
  inputVersions: Record<string, string>;
};

export type AssetQuery = {
  ids?: string[] | null;
  types?: string[] | null;
  namespace?: string | null;
  q?: string | null;
  metadataQuery?: MetadataCondition[];
  createdFrom?: string | null;
  createdTo?: string | null;
  updatedFrom?: string | null;
  updatedTo?: string | null;
  includeDeleted?: boolean;
  locked?: boolean | null;
  sort?: Sort;
  limit?: number;
  cursor?: string | null;
};

export type AssetRef = {
  id: string;
  type?: string | null;
  namespace?: string | null;
};

export type AssetRun = {
  runId: string;
  status: AssetRunStatus;
  nodes: string[];
  action: string | null;
  jobName: string | null;
  partitionKey: string | null;
  tags: [string, string][];
  priority: number;
  launchedBy: Record<string, unknown>;
  config: Record<string, unknown> | null;
  started: string;
  ended: string | null;
  completed: number;
  total: number;
  message: string | null;
  cancelRequested: boolean;
};

export type AssetRunInput = {
  status?: AssetRunStatus;
  nodes?: string[];
  action?: string | null;
  jobName?: string | null;
  partitionKey?: string | null;
  tags?: [string, string][];
  priority?: number;
  launchedBy?: Record<string, unknown>;
  config?: Record<string, unknown> | null;
};

export type AssetRunOutcome = {
  status: AssetRunStatus;
  completed?: number;
  total?: number;
  message?: string | null;
};

export type AssetRunQuery = {
  runId?: string | null;
  status?: AssetRunStatus | null;
  limit?: number;
};

export type AssetRunRecord = {
  runId: string;
  run?: AssetRunInput | null;
  events?: StepEventInput[];
  outcome?: AssetRunOutcome | null;
};

export type AssetRunRecorded = {
  stored: number;
  duplicates: number;
  warnings?: string[];
};

export type AssetRunStatus = "Queued" | "NotStarted" | "Started" | "Success" | "Failure" | "Canceled";

export type AssetRuns = {
  items: AssetRun[];
};

export type AssetUpdate = {
  type?: string | null;
  namespace?: string | null;
  displayName?: string | null;
  description?: string | null;
  metadata?: Record<string, unknown> | null;
  uri?: string | null;
  group?: string | null;
};

export type Batch = {
  items: BatchItem[];
};

export type BatchAction = "create" | "update" | "upsert" | "delete";

export type BatchItem = {
  action: BatchAction;
  id?: string | null;
  asset?: AssetInput | null;
  changes?: AssetUpdate | null;
};

export type BatchItemResult = {
  id: string | null;
  status: number;
  problem?: Record<string, unknown> | null;
};

export type BatchResult = {
  items: BatchItemResult[];
};

export type Bookmark = {
  exporter: string;
  seq: number;
  begin: number;
};

export type BookmarkMove = {
  key: string;
  exporter: string;
  expected: number;
  seq: number;
  result?: ShippingResult | null;
};

export type Bookmarks = {
  items: Bookmark[];
};

export type BookmarksOpen = {
  key: string;
  exporters: string[];
  lookback: number;
  filter?: LineageFilter;
};

export type Bundle = {
  inputs?: AssetRef[];
  outputs?: AssetInput[];
};

export type CancelRequest = {
  runId?: string | null;
  backfillId?: string | null;
};

export type CancelResult = {
  found: boolean;
};

export type Cause = {
  category: string;
  reason: string;
  dependency?: string | null;
};

export type Change = {
  seq: number;
  eventId: string;
  event: EventKind;
  eventTime: string;
  source: Source;
  diff: Record<string, [unknown, unknown]>;
};

export type ChangesPage = {
  items: ShippedChange[];
  nextAfter: number;
};

export type ChangesRead = {
  after: number;
  upto: number;
  assetNamespace?: string | null;
  assetTypes?: string[] | null;
  limit?: number;
};

export type CheckReport = {
  poll: FreshnessPoll | ScriptPoll;
  number: number;
  matched?: boolean | null;
  payload?: Record<string, unknown> | null;
  error?: string | null;
};

export type CheckResult = {
  number: number;
  wait: number;
  accepted?: boolean;
  firingId?: string | null;
};

export type CheckedAsset = {
  tenantId: string;
  namespace: string | null;
  id: string;
  type: string;
  displayName: string | null;
  description: string | null;
  metadata: Record<string, unknown>;
  created: string;
  lastUpdated: string;
  deleted?: boolean;
  staleDuration: number;
  checkTime: string;
  state?: FreshnessState;
};

export type DagRunTimes = {
  logicalDate: string | null;
  runAfter: string;
  clearNumber: number;
};

export type DashboardColumn = {
  field: DashboardField;
  key?: string | null;
  agg?: Aggregate | null;
};

export type DashboardCondition = {
  field: DashboardField;
  key?: string | null;
  type?: Operator;
  value?: unknown;
  values?: unknown[] | null;
};

export type DashboardData = {
  columns: string[];
  rows: Record<string, unknown>[];
  truncated: boolean;
};

export type DashboardField = "ID" | "NAMESPACE" | "TYPE" | "DISPLAY_NAME" | "METADATA" | "CREATED" | "UPDATED";

export type DashboardQuery = {
  columns: Record<string, DashboardColumn>;
  where?: DashboardCondition[];
  orderBy?: string | null;
  limit?: number;
};

export type Declared = {
  changed: number;
};

export type DeletedLineage = {
  deleted: number;
  nextAfter: number | null;
};

export type DependencyQuery = {
  assetId: string;
  direction?: Direction;
  depth?: number;
  tasks?: boolean;
  dags?: boolean;
  maxNodes?: number;
  asOf?: string | null;
};

export type Direction = "upstream" | "downstream" | "both";

export type DynamicPartitionChange = {
  name: string;
  add?: string[];
  remove?: string[];
};

export type DynamicPartitionQuery = {
  name: string;
};

export type DynamicPartitions = {
  name: string;
  keys: string[];
};

export type Edge = {
  source: string;
  target: string;
  relation: Relation;
  recorded: boolean;
  declared: boolean;
  firstSeen: string;
  lastSeen: string;
};

export type EdgeState = {
  matched?: boolean | null;
  stale?: number | null;
};

export type Event = {
  seq: number;
  id: string;
  event: EventKind;
  eventTime: string;
  asset: EventAsset;
  source: Source;
  changed: string[];
  depth: number;
  suppressed?: string | null;
};

export type EventAsset = {
  id: string;
  type: string;
  namespace: string | null;
  displayName: string | null;
  description: string | null;
  metadata: Record<string, unknown>;
  tenantId: string;
  created: string;
  updated: string;
};

export type EventFilter = {
  assetId?: string | null;
  namespace?: string | null;
  assetType?: string | null;
  events?: EventKind[] | null;
  metadataQuery?: MetadataCondition[];
  onlyChanges?: boolean;
};

export type EventKind = "CREATED" | "UPDATED" | "DELETED" | "USED";

export type EventQuery = {
  assetId?: string | null;
  namespace?: string | null;
  assetType?: string | null;
  events?: EventKind[] | null;
  metadataQuery?: MetadataCondition[];
  onlyChanges?: boolean;
  after?: number | null;
  newestFirst?: boolean;
  fromTime?: string | null;
  toTime?: string | null;
  limit?: number;
  cursor?: string | null;
};

export type EventWait = {
  filter?: EventFilter;
  after?: number | null;
  since?: string | null;
  timeout?: number;
  keepFor?: string | null;
  resume?: boolean;
};

export type EventWaitResult = {
  cursor: number;
  event?: Event | null;
};

export type Expectation = {
  maxStaleness?: string | null;
  deadline?: string | null;
  window?: string;
  timezone?: string;
};

export type ExportQuery = {
  log?: boolean;
  limit?: number;
  cursor?: string | null;
};

export type ExportRow = {
  kind: RowKind;
  version?: number;
  data: Record<string, unknown>;
};

export type Facet = {
  name: string;
  values: FacetValue[];
  missing: number;
  other: number;
};

export type FacetQuery = {
  ids?: string[] | null;
  types?: string[] | null;
  namespace?: string | null;
  q?: string | null;
  metadataQuery?: MetadataCondition[];
  createdFrom?: string | null;
  createdTo?: string | null;
  updatedFrom?: string | null;
  updatedTo?: string | null;
  includeDeleted?: boolean;
  locked?: boolean | null;
  facets: string[];
  top?: number;
};

export type FacetResult = {
  facets: Facet[];
  total: number;
  totalIsLowerBound: boolean;
};

export type FacetValue = {
  value: unknown;
  count: number;
};

export type Firing = {
  seq: number;
  id: string;
  kind: PollKind;
  pollKey: string;
  created: string;
  repeats: boolean;
  payload: Record<string, unknown>;
};

export type ForceUnlock = {
  assetId: string;
  reason: string;
};

export type ForceUnlockResult = {
  unlocked: ForcedUnlock | null;
};

export type ForcedUnlock = {
  id: number;
  assetId: string;
  lease: Lease;
  reason: string;
  source: Source;
  created: string;
};

export type ForcedUnlockQuery = {
  assetId?: string | null;
  limit?: number;
  cursor?: string | null;
};

export type Freshness = {
  state: FreshnessState;
  age: number;
};

export type FreshnessCheck = {
  expectation?: Expectation | null;
  perAsset?: boolean;
  assetId?: string | null;
  namespace?: string | null;
  assetType?: string | null;
  metadataQuery?: MetadataCondition[];
};

export type FreshnessPoll = {
  kind?: "freshness";
  check: FreshnessCheck;
  interval?: string;
  mode?: Mode;
};

export type FreshnessReport = {
  checkTime: string;
  assets: CheckedAsset[];
};

export type FreshnessState = "FRESH" | "STALE" | "UNKNOWN" | "RECOVERED";

export type GetOptions = {
  includeDeleted?: boolean;
};

export type Graph = {
  nodes: Node[];
  edges: Edge[];
  hidden?: number;
  truncated?: number;
};

export type HistoryQuery = {
  assetId: string;
  limit?: number;
  cursor?: string | null;
};

export type ImportRequest = {
  rows: ExportRow[];
};

export type ImportResult = {
  imported: number;
  skipped: number;
};

export type LastShipping = {
  size: number;
  error?: string | null;
  ended: string;
};

export type Lease = {
  assetId: string;
  ownerType: OwnerType;
  owner: string;
  executionId: string | null;
  dagId: string | null;
  runId: string | null;
  taskId: string | null;
  mapIndex: number | null;
  tryNumber: number | null;
  user: string | null;
  fencingToken: number;
  acquired: string;
  lockedUntil: string;
  ttl: string;
  holdAfterRun: boolean;
};

export type LeaseGrant = {
  leases: Lease[];
};

export type LeaseQuery = {
  assetId?: string | null;
  limit?: number;
  cursor?: string | null;
};

export type LeaseScope = "run" | "task";

export type LeaseWait = {
  waitId: string;
  timeout?: number;
};

export type LeaseWaitResult = {
  turn: boolean;
};

export type LineageEvent = {
  seq: number;
  task: TaskRun;
  bundle: number;
  state: TaskState;
  inputs: AssetRef[];
  outputs: AssetRef[];
  warnings: string[];
  error?: TaskError | null;
  startDate: string | null;
  endDate: string | null;
  created: string;
};

export type LineageFilter = {
  assetNamespace?: string | null;
  assetTypes?: string[] | null;
  dagNamespace?: string | null;
  dagId?: string | null;
  taskId?: string | null;
};

export type LineagePage = {
  items: ShippedEvent[];
  assets: Record<string, Asset>;
  nextAfter: number;
  atEnd: boolean;
};

export type LineageQuery = {
  assetId?: string | null;
  dagId?: string | null;
  runId?: string | null;
  taskId?: string | null;
  limit?: number;
  cursor?: string | null;
};

export type LineageRead = {
  after: number;
  filter?: LineageFilter;
  limit?: number;
};

export type LogReader = {
  kind: string;
  name: string;
  seq: number;
  updated: string;
};

export type MetadataCondition = {
  field: string;
  type: Operator;
  value?: unknown;
};

export type Mode = "repeat" | "transitions";

export type NativeNames = {
  names: string[];
};

export type NativeUri = {
  name: string;
  uri: string;
  active: boolean;
  dagIds: string[];
  files: string[];
};

export type NativeUris = {
  items: NativeUri[];
};

export type Node = {
  uid: string;
  kind: NodeKind;
  id: string;
  type?: string | null;
  namespace?: string | null;
  displayName?: string | null;
  freshness?: Freshness | null;
  locked?: boolean;
  dagId?: string | null;
  taskId?: string | null;
};

export type NodeClaim = {
  node: string;
  exclusive?: boolean;
  partitions?: string[] | null;
};

export type NodeDeclaration = {
  name: string;
  tags?: string[];
  kinds?: string[];
  group?: string | null;
  codeVersion?: string | null;
  upstreams?: string[];
  pools?: [string, number][];
  inner?: boolean;
  external?: boolean;
};

export type NodeDeclarations = {
  items: NodeDeclaration[];
};

export type NodeKind = "ASSET" | "TASK" | "DAG";

export type NodePartition = {
  partitionKey: string;
  materialized: boolean;
  failed: boolean;
  dataVersion: string | null;
  lastRunId: string | null;
};

export type NodePartitionQuery = {
  node: string;
  countOnly?: boolean;
};

export type NodePartitions = {
  items: NodePartition[];
  materialized: number;
};

export type NodeQuery = {
  names?: string[] | null;
  tag?: string | null;
  kind?: string | null;
  group?: string | null;
};

export type NodeStatus = {
  name: string;
  status: string;
  causes: Cause[];
};

export type NodeStatuses = {
  items: NodeStatus[];
};

export type Nodes = {
  items: AssetNode[];
};

export type OnPause = "keep" | "skip";

export type Operator = "EQUAL_TO" | "NOT_EQUAL_TO" | "IN" | "NOT_IN" | "EXISTS" | "NOT_EXISTS" | "GREATER_THAN" | "GREATER_THAN_OR_EQUAL_TO" | "LESS_THAN" | "LESS_THAN_OR_EQUAL_TO" | "STARTS_WITH" | "ENDS_WITH" | "CONTAINS" | "REGEX";

export type OwnerType = "EXECUTION" | "TASK" | "USER";

export type PageAsset = {
  items: Asset[];
  nextCursor?: string | null;
};

export type PageChange = {
  items: Change[];
  nextCursor?: string | null;
};

export type PageEvent = {
  items: Event[];
  nextCursor?: string | null;
};

export type PageExportRow = {
  items: ExportRow[];
  nextCursor?: string | null;
};

export type PageForcedUnlock = {
  items: ForcedUnlock[];
  nextCursor?: string | null;
};

export type PageLease = {
  items: Lease[];
  nextCursor?: string | null;
};

export type PageLineageEvent = {
  items: LineageEvent[];
  nextCursor?: string | null;
};

export type PageShipper = {
  items: Shipper[];
  nextCursor?: string | null;
};

export type PageUsage = {
  items: Usage[];
  nextCursor?: string | null;
};

export type PollInfo = {
  interval: string;
  mode?: Mode | null;
  check?: FreshnessCheck | null;
  edge?: boolean | null;
  checks: number;
  lastCheck: string;
  nextCheck: string;
  lastError: string | null;
  edgeState: EdgeState | null;
};

export type PollKind = "freshness" | "script";

export type PollRef = {
  poll: FreshnessPoll | ScriptPoll;
};

export type Pool = {
  pool: string;
  slotLimit: number;
  leaseSeconds: number;
  configured: boolean;
  holders: SlotHolder[];
};

export type PoolClaim = {
  pool: string;
  slots?: number;
};

export type PoolLimit = {
  pool: string;
  slotLimit: number;
  leaseSeconds?: number;
};

export type PoolQuery = {
  pool?: string | null;
};

export type Pools = {
  items: Pool[];
};

export type Problem = {
  assetId: string;
  problem: Record<string, unknown>;
};

export type Purge = {
  endDate: string;
  namespace?: string | null;
  assetId?: string | null;
  assetType?: string[] | null;
  metadataQuery?: MetadataCondition[];
  purgeAssets?: boolean;
  purgeAssetUsages?: boolean;
  purgeAssetLineages?: boolean;
  purgeAssetEvents?: boolean;
  dryRun?: boolean;
  limit?: number;
  cursor?: string | null;
};

export type PurgeResult = {
  purgedAssetsCount?: number | null;
  purgedAssetUsagesCount?: number | null;
  purgedAssetLineagesCount?: number | null;
  purgedAssetEventsCount?: number | null;
  lockedAssetsCount?: number;
  keptForReadersCount?: number;
  readers?: LogReader[];
  idleReaders?: LogReader[];
  nextCursor?: string | null;
};

export type RecordResult = {
  duplicate: boolean;
  stored: string[];
  problems: Problem[];
};

export type Relation = "PRODUCES" | "CONSUMED_BY" | "UPSTREAM_OF" | "TRIGGERS";

export type ReleaseLeases = {
  assetIds: string[];
  waitId?: string | null;
};

export type ReleaseResult = {
  released: string[];
};

export type Rename = {
  oldId: string;
  newId: string;
};

export type Replay = {
  eventId: string;
  replayId: string;
  dagId?: string | null;
};

export type ReplayResult = {
  runs: ReplayRun[];
};

export type ReplayRun = {
  dagId: string;
  runId: string;
  created: boolean;
};

export type Role = "input" | "output";

export type RowKind = "asset" | "alias" | "edge" | "event" | "lineage";

export type ScriptPoll = {
  kind?: "script";
  definitionKey: string;
  title?: string;
  interval?: string;
  edge?: boolean;
};

export type ShippedChange = {
  seq: number;
  id: string;
  event: EventKind;
  eventTime: string;
  asset: EventAsset;
  source: Source;
  changed: string[];
  depth: number;
  suppressed?: string | null;
  uri?: string | null;
  formerId?: string | null;
};

export type ShippedDelete = {
  key: string;
  exporters: string[];
  after?: number;
  limit?: number;
};

export type ShippedEvent = {
  seq: number;
  task: TaskRun;
  bundle: number;
  state: TaskState;
  inputs: AssetRef[];
  outputs: AssetRef[];
  warnings: string[];
  error?: TaskError | null;
  startDate: string | null;
  endDate: string | null;
  created: string;
  run?: DagRunTimes | null;
};

export type Shipper = {
  key: string;
  exporter: string;
  seq: number;
  backlog: number;
  waitingSince: string | null;
  confirmed: string | null;
  result: LastShipping | null;
};

export type ShipperQuery = {
  limit?: number;
  cursor?: string | null;
};

export type ShippingResult = {
  size: number;
  error?: string | null;
};

export type SlotClaim = {
  runId: string;
  step: string;
  pools?: PoolClaim[];
  nodes?: NodeClaim[];
  leaseSeconds?: number;
  onlyRenew?: boolean;
};

export type SlotGrant = {
  granted: boolean;
  reason?: string | null;
  impossible?: boolean;
};

export type SlotHolder = {
  runId: string;
  step: string;
  slots: number;
  claimed: string;
  expires: string;
};

export type SlotRelease = {
  runId: string;
  step?: string | null;
};

export type SlotsReleased = {
  released: number;
};

export type Sort = "id" | "-id" | "updated" | "-updated" | "created" | "-created";

export type Source = {
  kind: SourceKind;
  user?: string | null;
  dagId?: string | null;
  runId?: string | null;
  taskId?: string | null;
  mapIndex?: number | null;
  tryNumber?: number | null;
  tiId?: string | null;
};

export type SourceKind = "task" | "trigger" | "parse" | "api" | "ui" | "cli" | "import" | "airflow";

export type StalenessPoint = {
  time: string;
  stale: number;
  fresh: number;
  unknown: number;
};

export type StalenessQuery = {
  expectation?: Expectation | null;
  perAsset?: boolean;
  assetId?: string | null;
  namespace?: string | null;
  assetType?: string | null;
  metadataQuery?: MetadataCondition[];
  fromTime?: string | null;
  toTime?: string | null;
  points?: number;
};

export type StalenessSeries = {
  points: StalenessPoint[];
  assets: number;
  leftOut: number;
};

export type StateCorrection = {
  task: TaskRun;
  state: TaskState;
  endDate?: string | null;
  error?: TaskError | null;
};

export type StepEvent = {
  id: string;
  runId: string;
  step: string;
  attempt: number;
  eventType: StepEventType;
  node: string;
  partitionKey: string | null;
  created: string;
  metadata: [string, Record<string, unknown>][];
  dataVersion: string | null;
  codeVersion: string | null;
  inputVersions: Record<string, string>;
  tags: string[];
};

export type StepEventInput = {
  step: string;
  attempt?: number;
  mapIndex?: number;
  ordinal: number;
  eventType: StepEventType;
  node: string;
  partitionKey?: string | null;
  metadata?: [string, Record<string, unknown>][];
  dataVersion?: string | null;
  codeVersion?: string | null;
  inputVersions?: Record<string, string>;
  tags?: string[];
  keepsInputs?: boolean;
  ago?: number;
};

export type StepEventQuery = {
  runId?: string | null;
  node?: string | null;
  eventTypes?: StepEventType[] | null;
  partitionKey?: string | null;
  limit?: number;
};

export type StepEventType = "StepStart" | "Observation" | "Materialization" | "ActionCompleted" | "Deletion" | "StepSuccess" | "StepFailure" | "StepRetry" | "StepSlotClaimed" | "StepSlotWaiting" | "StepSlotReleased";

export type StepEvents = {
  items: StepEvent[];
};

export type TaskError = {
  type: string;
  message: string;
};

export type TaskRun = {
  dagId: string;
  runId: string;
  taskId: string;
  mapIndex?: number;
  tryNumber: number;
  tiId?: string | null;
};

export type TaskRunRecord = {
  task: TaskRun;
  state: TaskState;
  startDate?: string | null;
  endDate?: string | null;
  bundles: Bundle[];
  warnings?: string[];
  error?: TaskError | null;
  onlyIfMissing?: boolean;
  note?: boolean;
};

export type TaskState = "success" | "failed" | "skipped" | "up_for_retry" | "removed";

export type TriggerInfo = {
  dagId: string;
  kind: TriggerKind;
  triggerId: string;
  position: number;
  title: string;
  since: string;
  dagPaused: boolean;
  held: boolean;
  filter?: EventFilter | null;
  poll?: PollInfo | null;
  when: string | null;
  stopAfter: string[];
  allowConcurrent: boolean;
  onPause: OnPause;
  maxPending: number | null;
  unread: number | null;
  lastFiring: string | null;
  lastRunId: string | null;
};

export type TriggerKind = "event" | "freshness" | "script";

export type TriggerQuery = {
  dagId?: string | null;
  kind?: TriggerKind | null;
  limit?: number;
  cursor?: string | null;
};

export type Triggers = {
  items: TriggerInfo[];
  nextCursor?: string | null;
};

export type UpsertResult = {
  asset: Asset;
  created: boolean;
};

export type Usage = {
  assetId: string;
  role: Role;
  task: TaskRun;
  state: TaskState;
  created: string;
  lineageSeq: number;
};

export type UsageQuery = {
  assetId?: string | null;
  dagId?: string | null;
  runId?: string | null;
  taskId?: string | null;
  limit?: number;
  cursor?: string | null;
  role?: Role | null;
};

export type ProblemDocument = {
  type: string;
  title: string;
  status: number;
  detail: string;
  hint?: string;
  field?: string;
};

/** What each operation takes and gives; `undefined` where it takes nothing. */
export interface Operations {
  list_asset_backfills: { path: undefined; query: { backfillId?: string; limit?: number }; body: undefined; response: AssetBackfills };
  save_asset_backfill: { path: undefined; query: undefined; body: AssetBackfill; response: AssetBackfill };
  list_asset_runs: { path: undefined; query: { runId?: string; status?: AssetRunStatus; limit?: number }; body: undefined; response: AssetRuns };
  cancel_asset_run: { path: undefined; query: undefined; body: CancelRequest; response: CancelResult };
  list_step_events: { path: undefined; query: { runId?: string; node?: string; eventTypes?: StepEventType[]; partitionKey?: string; limit?: number }; body: undefined; response: StepEvents };
  record_asset_run: { path: undefined; query: undefined; body: AssetRunRecord; response: AssetRunRecorded };
  search_assets: { path: undefined; query: { ids?: string[]; types?: string[]; namespace?: string; q?: string; metadataQuery?: MetadataCondition[]; createdFrom?: string; createdTo?: string; updatedFrom?: string; updatedTo?: string; includeDeleted?: boolean; locked?: boolean; sort?: Sort; limit?: number; cursor?: string }; body: undefined; response: PageAsset };
  create_asset: { path: undefined; query: undefined; body: AssetInput; response: Asset };
  get_asset: { path: string; query: { includeDeleted?: boolean }; body: undefined; response: Asset };
  update_asset: { path: string; query: undefined; body: AssetUpdate; response: Asset };
  delete_asset: { path: string; query: undefined; body: undefined; response: undefined };
  batch: { path: undefined; query: undefined; body: Batch; response: BatchResult };
  move_bookmark: { path: undefined; query: undefined; body: BookmarkMove; response: Bookmark };
  open_bookmarks: { path: undefined; query: undefined; body: BookmarksOpen; response: Bookmarks };
  read_changes: { path: undefined; query: undefined; body: ChangesRead; response: ChangesPage };
  dashboard: { path: undefined; query: { columns: Record<string, DashboardColumn>; where?: DashboardCondition[]; orderBy?: string; limit?: number }; body: undefined; response: DashboardData };
  query_dashboard: { path: undefined; query: undefined; body: DashboardQuery; response: DashboardData };
  dependencies: { path: undefined; query: { assetId: string; direction?: Direction; depth?: number; tasks?: boolean; dags?: boolean; maxNodes?: number; asOf?: string }; body: undefined; response: Graph };
  dynamic_partitions: { path: undefined; query: { name: string }; body: undefined; response: DynamicPartitions };
  change_dynamic_partitions: { path: undefined; query: undefined; body: DynamicPartitionChange; response: DynamicPartitions };
  list_events: { path: undefined; query: { assetId?: string; namespace?: string; assetType?: string; events?: EventKind[]; metadataQuery?: MetadataCondition[]; onlyChanges?: boolean; after?: number; newestFirst?: boolean; fromTime?: string; toTime?: string; limit?: number; cursor?: string }; body: undefined; response: PageEvent };
  wait_events: { path: undefined; query: undefined; body: EventWait; response: EventWaitResult };
  get_event: { path: string; query: undefined; body: undefined; response: Event };
  export_rows: { path: undefined; query: { log?: boolean; limit?: number; cursor?: string }; body: undefined; response: PageExportRow };
  facets: { path: undefined; query: undefined; body: FacetQuery; response: FacetResult };
  report_check: { path: undefined; query: undefined; body: CheckReport; response: CheckResult };
  next_check: { path: undefined; query: undefined; body: PollRef; response: CheckResult };
  get_firing: { path: string; query: undefined; body: undefined; response: Firing };
  check_freshness: { path: undefined; query: undefined; body: FreshnessCheck; response: FreshnessReport };
  health: { path: undefined; query: undefined; body: undefined; response: Record<string, unknown> };
  list_history: { path: undefined; query: { assetId: string; limit?: number; cursor?: string }; body: undefined; response: PageChange };
  import_rows: { path: undefined; query: undefined; body: ImportRequest; response: ImportResult };
  list_lineage: { path: undefined; query: { assetId?: string; dagId?: string; runId?: string; taskId?: string; limit?: number; cursor?: string }; body: undefined; response: PageLineageEvent };
  delete_shipped: { path: undefined; query: undefined; body: ShippedDelete; response: DeletedLineage };
  read_lineage: { path: undefined; query: undefined; body: LineageRead; response: LineagePage };
  list_leases: { path: undefined; query: { assetId?: string; limit?: number; cursor?: string }; body: undefined; response: PageLease };
  acquire_leases: { path: undefined; query: undefined; body: AcquireLeases; response: LeaseGrant };
  force_unlock: { path: undefined; query: undefined; body: ForceUnlock; response: ForceUnlockResult };
  list_forced_unlocks: { path: undefined; query: { assetId?: string; limit?: number; cursor?: string }; body: undefined; response: PageForcedUnlock };
  release_leases: { path: undefined; query: undefined; body: ReleaseLeases; response: ReleaseResult };
  wait_leases: { path: undefined; query: undefined; body: LeaseWait; response: LeaseWaitResult };
  metrics: { path: undefined; query: undefined; body: undefined; response: string };
  native_uris: { path: undefined; query: undefined; body: NativeNames; response: NativeUris };
  declare_nodes: { path: undefined; query: undefined; body: NodeDeclarations; response: Declared };
  node_partitions: { path: undefined; query: { node: string; countOnly?: boolean }; body: undefined; response: NodePartitions };
  list_nodes: { path: undefined; query: undefined; body: NodeQuery; response: Nodes };
  node_statuses: { path: undefined; query: undefined; body: undefined; response: NodeStatuses };
  list_pools: { path: undefined; query: { pool?: string }; body: undefined; response: Pools };
  set_pool: { path: undefined; query: undefined; body: PoolLimit; response: Pool };
  purge: { path: undefined; query: undefined; body: Purge; response: PurgeResult };
  record_task_run: { path: undefined; query: undefined; body: TaskRunRecord; response: RecordResult };
  correct_state: { path: undefined; query: undefined; body: StateCorrection; response: RecordResult };
  rename_asset: { path: undefined; query: undefined; body: Rename; response: Asset };
  replay_event: { path: undefined; query: undefined; body: Replay; response: ReplayResult };
  rights: { path: undefined; query: undefined; body: undefined; response: {
  name: string | null;
  actions: ("LIST" | "VIEW" | "CREATE" | "UPDATE" | "DELETE" | "LOCK" | "UNLOCK" | "RECORD" | "REPORT")[];
} };
  query_assets: { path: undefined; query: undefined; body: AssetQuery; response: PageAsset };
  list_shippers: { path: undefined; query: { limit?: number; cursor?: string }; body: undefined; response: PageShipper };
  claim_slots: { path: undefined; query: undefined; body: SlotClaim; response: SlotGrant };
  release_slots: { path: undefined; query: undefined; body: SlotRelease; response: SlotsReleased };
  staleness: { path: undefined; query: undefined; body: StalenessQuery; response: StalenessSeries };
  list_triggers: { path: undefined; query: { dagId?: string; kind?: TriggerKind; limit?: number; cursor?: string }; body: undefined; response: Triggers };
  upsert_asset: { path: undefined; query: undefined; body: AssetInput; response: UpsertResult };
  list_usages: { path: undefined; query: { assetId?: string; dagId?: string; runId?: string; taskId?: string; limit?: number; cursor?: string; role?: Role }; body: undefined; response: PageUsage };
}

/** Method and path, below Airflow's own base address, of each operation. */
export const OPERATIONS: Record<keyof Operations, readonly [method: string, path: string]> = {
  list_asset_backfills: ["GET", "airflow_assets/api/v1/asset-backfills"],
  save_asset_backfill: ["POST", "airflow_assets/api/v1/asset-backfills"],
  list_asset_runs: ["GET", "airflow_assets/api/v1/asset-runs"],
  cancel_asset_run: ["POST", "airflow_assets/api/v1/asset-runs/cancel"],
  list_step_events: ["GET", "airflow_assets/api/v1/asset-runs/events"],
  record_asset_run: ["POST", "airflow_assets/api/v1/asset-runs/record"],
  search_assets: ["GET", "airflow_assets/api/v1/assets"],
  create_asset: ["POST", "airflow_assets/api/v1/assets"],
  get_asset: ["GET", "airflow_assets/api/v1/assets/{asset_id}"],
  update_asset: ["PUT", "airflow_assets/api/v1/assets/{asset_id}"],
  delete_asset: ["DELETE", "airflow_assets/api/v1/assets/{asset_id}"],
  batch: ["POST", "airflow_assets/api/v1/batch"],
  move_bookmark: ["POST", "airflow_assets/api/v1/bookmarks/move"],
  open_bookmarks: ["POST", "airflow_assets/api/v1/bookmarks/open"],
  read_changes: ["POST", "airflow_assets/api/v1/changes/read"],
  dashboard: ["GET", "airflow_assets/api/v1/dashboard"],
  query_dashboard: ["POST", "airflow_assets/api/v1/dashboard"],
  dependencies: ["GET", "airflow_assets/api/v1/dependencies"],
  dynamic_partitions: ["GET", "airflow_assets/api/v1/dynamic-partitions"],
  change_dynamic_partitions: ["POST", "airflow_assets/api/v1/dynamic-partitions"],
  list_events: ["GET", "airflow_assets/api/v1/events"],
  wait_events: ["POST", "airflow_assets/api/v1/events/wait"],
  get_event: ["GET", "airflow_assets/api/v1/events/{event_id}"],
  export_rows: ["GET", "airflow_assets/api/v1/export"],
  facets: ["POST", "airflow_assets/api/v1/facets"],
  report_check: ["POST", "airflow_assets/api/v1/firings"],
  next_check: ["POST", "airflow_assets/api/v1/firings/next"],
  get_firing: ["GET", "airflow_assets/api/v1/firings/{firing_id}"],
  check_freshness: ["POST", "airflow_assets/api/v1/freshness/check"],
  health: ["GET", "airflow_assets/api/v1/health"],
  list_history: ["GET", "airflow_assets/api/v1/history"],
  import_rows: ["POST", "airflow_assets/api/v1/import"],
  list_lineage: ["GET", "airflow_assets/api/v1/lineage"],
  delete_shipped: ["POST", "airflow_assets/api/v1/lineage/delete"],
  read_lineage: ["POST", "airflow_assets/api/v1/lineage/read"],
  list_leases: ["GET", "airflow_assets/api/v1/locks"],
  acquire_leases: ["POST", "airflow_assets/api/v1/locks/acquire"],
  force_unlock: ["POST", "airflow_assets/api/v1/locks/force-unlock"],
  list_forced_unlocks: ["GET", "airflow_assets/api/v1/locks/forced"],
  release_leases: ["POST", "airflow_assets/api/v1/locks/release"],
  wait_leases: ["POST", "airflow_assets/api/v1/locks/wait"],
  metrics: ["GET", "airflow_assets/api/v1/metrics"],
  native_uris: ["POST", "airflow_assets/api/v1/native-uris"],
  declare_nodes: ["POST", "airflow_assets/api/v1/nodes/declare"],
  node_partitions: ["GET", "airflow_assets/api/v1/nodes/partitions"],
  list_nodes: ["POST", "airflow_assets/api/v1/nodes/search"],
  node_statuses: ["GET", "airflow_assets/api/v1/nodes/status"],
  list_pools: ["GET", "airflow_assets/api/v1/pools"],
  set_pool: ["POST", "airflow_assets/api/v1/pools"],
  purge: ["POST", "airflow_assets/api/v1/purge"],
  record_task_run: ["POST", "airflow_assets/api/v1/record"],
  correct_state: ["POST", "airflow_assets/api/v1/record/state"],
  rename_asset: ["POST", "airflow_assets/api/v1/rename"],
  replay_event: ["POST", "airflow_assets/api/v1/replay"],
  rights: ["GET", "airflow_assets/api/v1/rights"],
  query_assets: ["POST", "airflow_assets/api/v1/search"],
  list_shippers: ["GET", "airflow_assets/api/v1/shippers"],
  claim_slots: ["POST", "airflow_assets/api/v1/slots/claim"],
  release_slots: ["POST", "airflow_assets/api/v1/slots/release"],
  staleness: ["POST", "airflow_assets/api/v1/staleness"],
  list_triggers: ["GET", "airflow_assets/api/v1/triggers"],
  upsert_asset: ["POST", "airflow_assets/api/v1/upsert"],
  list_usages: ["GET", "airflow_assets/api/v1/usages"],
};
