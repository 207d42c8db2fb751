import type { MetadataCondition, Operator } from "../api/generated";
import { parseExact, stringifyExact } from "../api/exactJson";

/** A line that cannot be read, and where (from 0). */
export class QuerySyntaxError extends Error {
  constructor(
    readonly position: number,
    problem: string,
  ) {
    super(`${problem} (at position ${position + 1})`);
  }
}

const SYMBOLS: Record<string, Operator> = {
  "!=": "NOT_EQUAL_TO",
  "$=": "ENDS_WITH",
  "*=": "CONTAINS",
  "<": "LESS_THAN",
  "<=": "LESS_THAN_OR_EQUAL_TO",
  "=": "EQUAL_TO",
  ">": "GREATER_THAN",
  ">=": "GREATER_THAN_OR_EQUAL_TO",
  "^=": "STARTS_WITH",
  "~": "REGEX",
};

/** How each operator is written; those with a value come first. */
export const OPERATOR_TEXTS: Record<Operator, string> = {
  EQUAL_TO: "=",
  NOT_EQUAL_TO: "!=",
  GREATER_THAN: ">",
  GREATER_THAN_OR_EQUAL_TO: ">=",
  LESS_THAN: "<",
  LESS_THAN_OR_EQUAL_TO: "<=",
  CONTAINS: "*=",
  STARTS_WITH: "^=",
  ENDS_WITH: "$=",
  REGEX: "~",
  IN: "in",
  NOT_IN: "not in",
  EXISTS: "exists",
  NOT_EXISTS: "not exists",
};

const KEY = /[\p{L}_][\p{L}\p{N}_.\-/:]*/uy;
const WORD = /[^\s(),"[\]{}]+/y;
const SYMBOL = /!=|>=|<=|\^=|\$=|\*=|=|>|<|~/y;
const KEYWORD = /(?:and|in|not|exists)\b/iy;
const CONSTANT = /(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[\s,)]|$)/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;

/**
 * Reads a line in the grammar of the command line and the API (docs/queries.md), e.g. `owner = data and tier >= 2`.
 *
 * Throws `QuerySyntaxError`. Whether a condition makes sense is the server's to say.
 */
export const parseQuery = (text: string): MetadataCondition[] => new Parser(text).conditions();

/** Writes conditions as the line that `parseQuery` reads. */
export const formatQuery = (conditions: readonly MetadataCondition[]): string => conditions.map(formatCondition).join(" and ");

const formatCondition = ({ field, type, value }: MetadataCondition): string => {
  const bare = matches(KEY, field) && !matches(KEYWORD, field);
  const head = `${bare ? field : JSON.stringify(field)} ${OPERATOR_TEXTS[type]}`;
  if (type === "EXISTS" || type === "NOT_EXISTS") return head;
  if (type === "IN" || type === "NOT_IN") return `${head} (${(value as unknown[]).map((one) => stringifyExact(one)).join(", ")})`;
  return `${head} ${stringifyExact(value)}`;
};

const matches = (pattern: RegExp, text: string): boolean => {
  pattern.lastIndex = 0;
  return pattern.exec(text)?.[0] === text;
};

class Parser {
  private at = 0;

  constructor(private readonly text: string) {
    this.skipSpace();
  }

  conditions(): MetadataCondition[] {
    const found: MetadataCondition[] = [];
    while (this.at < this.text.length) {
      if (found.length > 0 && !this.keyword("and")) this.fail("expected 'and' or the end");
      found.push(this.condition());
    }
    return found;
  }

  private condition(): MetadataCondition {
    const field = this.key();
    const type = this.operator();
    if (type === "EXISTS" || type === "NOT_EXISTS") return { field, type };
    return { field, type, value: type === "IN" || type === "NOT_IN" ? this.list() : this.value() };
  }

  private key(): string {
    if (this.text[this.at] === '"') {
      const found = this.take(STRING);
      if (found !== undefined) return String(this.json(found));
    } else if (!this.sees(KEYWORD) || this.longerKey()) {
      const found = this.take(KEY);
      if (found !== undefined) return found;
    }
    return this.fail("expected a metadata key, bare or in double quotes");
  }

  /** Whether a key begins with a keyword and goes on, like `in-stock`. */
  private longerKey(): boolean {
    KEY.lastIndex = this.at;
    return !matches(KEYWORD, KEY.exec(this.text)?.[0] ?? "");
  }

  private operator(): Operator {
    const symbol = this.take(SYMBOL);
    if (symbol !== undefined) return SYMBOLS[symbol]!;
    const negated = this.keyword("not");
    if (this.keyword("in")) return negated ? "NOT_IN" : "IN";
    if (this.keyword("exists")) return negated ? "NOT_EXISTS" : "EXISTS";
    return this.fail(`expected one of ${Object.values(OPERATOR_TEXTS).join(", ")}`);
  }

  private list(): unknown[] {
    this.punctuation("(");
    const found: unknown[] = [];
    while (this.text[this.at] !== ")") {
      if (found.length > 0) this.punctuation(",");
      found.push(this.value());
    }
    this.punctuation(")");
    return found;
  }

  private value(): unknown {
    const next = this.text[this.at];
    if (next === "[" || next === "{") return this.json(this.balanced());
    const plain = next === '"' ? this.take(STRING) : this.take(CONSTANT);
    if (plain !== undefined) return this.json(plain);
    const word = next === '"' ? undefined : this.take(WORD);
    return word ?? this.fail("expected a value: JSON or a bare word");
  }

  /** The text of a JSON array or object that begins here. */
  private balanced(): string {
    const start = this.at;
    let depth = 0;
    for (let i = start; i < this.text.length; i++) {
      const char = this.text[i]!;
      if (char === '"') {
        STRING.lastIndex = i;
        const found = STRING.exec(this.text);
        if (!found) break;
        i += found[0].length - 1;
      } else if ("[{".includes(char)) depth += 1;
      else if ("]}".includes(char) && --depth === 0) {
        this.at = i + 1;
        this.skipSpace();
        return this.text.slice(start, i + 1);
      }
    }
    return this.fail("this is not JSON: a bracket is not closed");
  }

  private json(text: string): unknown {
    try {
      return parseExact(text);
    } catch {
      return this.fail("this is not JSON");
    }
  }

  private keyword(word: string): boolean {
    if (!this.sees(KEYWORD)) return false;
    const start = this.at;
    if (this.take(KEYWORD)?.toLowerCase() === word) return true;
    this.at = start;
    return false;
  }

  private punctuation(char: string): void {
    if (this.text[this.at] !== char) this.fail(`expected '${char}'`);
    this.at += 1;
    this.skipSpace();
  }

  private sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.text);
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) return undefined;
    this.at += found.length;
    this.skipSpace();
    return found;
  }

  private skipSpace(): void {
    while (/\s/.test(this.text[this.at] ?? "")) this.at += 1;
  }

  private fail(problem: string): never {
    throw new QuerySyntaxError(this.at, problem);
  }
}
