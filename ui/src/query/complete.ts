import { OPERATOR_TEXTS } from "./text";

const AT_KEY = /^(.*\band\s+|\s*)([\p{L}_]?[\p{L}\p{N}_.\-/:]*)$/su;
const AT_OPERATOR = /^(?:.*\band\s+|\s*)(?:[\p{L}_][\p{L}\p{N}_.\-/:]*|"(?:[^"\\]|\\.)*")\s+$/su;
const BARE = /^[\p{L}_][\p{L}\p{N}_.\-/:]*$/u;

/** The lines that this line may become: with each known key where a key is due, each operator where one is. */
export const completions = (line: string, keys: readonly string[]): string[] => {
  const key = AT_KEY.exec(line);
  if (key !== null) {
    const [, before = "", begun = ""] = key;
    return keys.filter((name) => name.startsWith(begun) && name !== begun).map((name) => `${before}${BARE.test(name) ? name : JSON.stringify(name)} `);
  }
  return AT_OPERATOR.test(line) ? Object.values(OPERATOR_TEXTS).map((text) => `${line}${text} `) : [];
};
