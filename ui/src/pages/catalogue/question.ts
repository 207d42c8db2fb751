import type { AssetQuery, MetadataCondition, Sort } from "../../api/generated";
import { formatQuery, parseQuery, QuerySyntaxError } from "../../query/text";
import type { Address } from "../../state/address";

/** What the address asks of the catalogue; `problem` when its metadata query cannot be read. */
export interface Question {
  conditions: MetadataCondition[];
  problem?: QuerySyntaxError;
  query: AssetQuery;
}

const SORTS = new Set<string>(["id", "-id", "updated", "-updated", "created", "-created"] satisfies Sort[]);

export const PAGE_SIZE = 50;

export const questionOf = (address: Address): Question => {
  let conditions: MetadataCondition[] = [];
  let problem: QuerySyntaxError | undefined;
  try {
    conditions = parseQuery(address.get("where"));
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    problem = error;
  }
  const sort = address.get("sort");
  const types = address.all("type");
  const locked = address.get("locked");
  return {
    conditions,
    ...(problem === undefined ? {} : { problem }),
    query: {
      cursor: address.get("cursor") || undefined,
      limit: PAGE_SIZE,
      locked: locked === "" ? undefined : locked === "yes",
      metadataQuery: conditions.length > 0 ? conditions : undefined,
      namespace: address.get("namespace") || undefined,
      q: address.get("q") || undefined,
      sort: SORTS.has(sort) ? (sort as Sort) : "id",
      types: types.length > 0 ? types : undefined,
    },
  };
};

/** The same question without its place, order and size: what facets are counted for. */
export const withoutPlace = ({ cursor: _cursor, limit: _limit, sort: _sort, ...rest }: AssetQuery) => rest;

const same = (a: MetadataCondition, b: MetadataCondition): boolean => formatQuery([a]) === formatQuery([b]);

/** Adds a condition, or takes it away if it is there. */
export const toggled = (conditions: readonly MetadataCondition[], one: MetadataCondition): MetadataCondition[] => {
  const rest = conditions.filter((other) => !same(other, one));
  return rest.length < conditions.length ? rest : [...conditions, one];
};

export const has = (conditions: readonly MetadataCondition[], one: MetadataCondition): boolean => conditions.some((other) => same(other, one));
