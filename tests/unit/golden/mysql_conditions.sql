-- EQUAL_TO 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.value_hash = %s

-- NOT_EQUAL_TO 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.value_hash = %s

-- IN ['a', 1, None]

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.value_hash IN (__[POSTCOMPILE_value_hash_1])

-- NOT_IN ['a']

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.value_hash IN (__[POSTCOMPILE_value_hash_1])

-- EXISTS None

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.field = %s

-- NOT_EXISTS None

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.field = %s

-- GREATER_THAN 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND value_0.value_sort > %s

-- GREATER_THAN_OR_EQUAL_TO 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND value_0.value_sort >= %s

-- LESS_THAN 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND value_0.value_sort < %s

-- LESS_THAN_OR_EQUAL_TO 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND value_0.value_sort <= %s

-- STARTS_WITH 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND value_0.value_sort >= %s AND value_0.value_sort < %s

-- ENDS_WITH 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND length(coalesce(value_0.value_rest, value_0.value_sort)) >= %s AND substr(coalesce(value_0.value_rest, value_0.value_sort), (length(coalesce(value_0.value_rest, value_0.value_sort)) - %s) + %s) = %s

-- CONTAINS '50%_'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND (value_0.tag = %s AND instr(coalesce(value_0.value_rest, value_0.value_sort), %s) > %s OR value_0.tag = %s AND instr(coalesce(value_0.value_rest, value_0.value_sort), %s) > %s)

-- CONTAINS 7

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s AND instr(coalesce(value_0.value_rest, value_0.value_sort), %s) > %s

-- REGEX 'a'

SELECT value_0.asset_pk
FROM airflow_assets_metadata_value AS value_0
WHERE value_0.field = %s AND value_0.tag = %s
