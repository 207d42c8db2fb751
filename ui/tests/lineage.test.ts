import { expect, test } from "vitest";

import type { Edge, Graph } from "../src/api/generated";
import { mermaidOf } from "../src/pages/asset/lineage/mermaid";
import { lineageOf } from "../src/pages/asset/lineage/reach";
import { longDuration, shortDuration } from "../src/parts/time";

const edge = (source: string, target: string): Edge => ({ firstSeen: "", lastSeen: "", relation: "UPSTREAM_OF", source, target }) as Edge;

test("a lineage is all that is up and down, without side branches, also in a circle", () => {
  const edges = [edge("a", "b"), edge("b", "c"), edge("b", "d"), edge("x", "c"), edge("c", "b")];
  expect(lineageOf("d", edges)).toEqual(new Set(["a", "b", "c", "d", "x"]));
  expect(lineageOf("a", edges)).toEqual(new Set(["a", "b", "c", "d"]));
});

test("no name means anything in Mermaid", () => {
  const node = (uid: string, id: string) => ({ id, kind: "ASSET", uid }) as Graph["nodes"][number];
  const text = mermaidOf({ edges: [edge("1", "2")], nodes: [node("1", 'a"] --> evil'), node("2", "<b>#quot;")] } as Graph);
  expect(text).toBe('flowchart LR\n  n0["a&quot;] --> evil"]\n  n1["&lt;b>&#35;quot;"]\n  n0 --> n1\n');
});

test.each([
  [0, "0 s", "0 s"],
  [59.9, "59 s", "59 s"],
  [3_600, "1 h", "1 h"],
  [3_661, "1 h", "1 h 1 min"],
  [90_000, "1 d", "1 d 1 h"],
])("%d seconds are %s", (seconds, short, long) => {
  expect(shortDuration(seconds)).toBe(short);
  expect(longDuration(seconds)).toBe(long);
});
