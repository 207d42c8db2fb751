import { parseExact, stringifyExact } from "./exactJson";
import { OPERATIONS, type Operations, type ProblemDocument } from "./generated";

/** What the server said when it refused, or that it could not be reached (`status` 0). */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly document: Partial<ProblemDocument> & Record<string, unknown>,
  ) {
    super(document.detail ?? document.title ?? `The server answered ${status}.`);
  }

  /** The problem's code, e.g. `asset-locked`. */
  get code(): string {
    return String(this.document.type ?? "").replace("urn:airflow-assets:problem:", "");
  }
}

type Arguments<Name extends keyof Operations> = {
  [Part in "path" | "query" | "body" as Operations[Name][Part] extends undefined ? never : Part]: Operations[Name][Part];
} & { signal?: AbortSignal };

/**
 * Calls an operation of the catalogue's API as the user who is logged in.
 *
 * Throws `ApiProblem` when the answer is not 2xx, and when there is none.
 */
export const call = async <Name extends keyof Operations>(
  name: Name,
  given: Arguments<Name>,
): Promise<Operations[Name]["response"]> => {
  const { body, path, query, signal } = given as {
    body?: unknown;
    path?: string;
    query?: Record<string, unknown>;
    signal?: AbortSignal;
  };
  const [method, template] = OPERATIONS[name];
  const url = new URL(template.replace(/\{\w+\}/, () => encodeId(path ?? "")), document.baseURI);
  addQuery(url, query ?? {});
  const response = await send(url, {
    body: body === undefined ? null : stringifyExact(body),
    credentials: "same-origin",
    headers: { Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    method,
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new ApiProblem(response.status, problemOf(text));
  return (text === "" ? undefined : parseExact(text)) as Operations[Name]["response"];
};

const send = async (url: URL, init: RequestInit): Promise<Response> => {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiProblem(0, {
      detail: "The server cannot be reached.",
      hint: "Check your connection; the page tries again when you ask it to.",
      title: "No answer",
    });
  }
};

const problemOf = (text: string): Record<string, unknown> => {
  try {
    const document = JSON.parse(text) as unknown;
    return typeof document === "object" && document !== null ? (document as Record<string, unknown>) : {};
  } catch {
    return { detail: text.slice(0, 300) || undefined }; // a proxy's page, not the catalogue's
  }
};

/** Percent-encodes every character that an address could read otherwise, as the API asks for. */
const encodeId = (id: string): string =>
  encodeURIComponent(id).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

const addQuery = (url: URL, query: Record<string, unknown>): void => {
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (name === "metadataQuery") url.searchParams.set(name, stringifyExact(value));
    else for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(item));
  }
};
