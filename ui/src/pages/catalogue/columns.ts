import type { Reading } from "../../state/address";

/** Before a column that shows a metadata key. */
export const METADATA = "metadata.";

export const COLUMNS: [name: string, title: string][] = [
  ["id", "Asset"],
  ["type", "Type"],
  ["namespace", "Namespace"],
  ["freshness", "Freshness"],
  ["lock", "Lock"],
  ["updated", "Updated"],
  ["created", "Created"],
  ["group", "Group"],
];

const USUAL = ["id", "type", "namespace", "freshness", "lock", "updated"];

/** The columns that the address names, in order; the asset itself always comes first. */
export const columnsOf = (address: Reading): string[] => {
  const named = address.all("column");
  return named.length === 0 ? USUAL : ["id", ...named.filter((name) => name !== "id")];
};
