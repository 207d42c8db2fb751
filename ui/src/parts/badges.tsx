import { Badge } from "@chakra-ui/react";
import type { ComponentType } from "react";

import type { EventKind, Freshness, FreshnessState, Lease } from "../api/generated";
import { CheckIcon, ClockIcon, LockIcon, QuestionIcon } from "./icons";
import { longDuration, shortDuration, Time } from "./time";

const LOOKS: Record<FreshnessState, [palette: string, word: string, Icon: ComponentType]> = {
  FRESH: ["green", "Fresh", CheckIcon],
  RECOVERED: ["green", "Recovered", CheckIcon],
  STALE: ["red", "Stale", ClockIcon],
  UNKNOWN: ["gray", "No expectation", QuestionIcon],
};

/** Whether an asset is as fresh as it says it should be, and how old it is: in words, not in colour alone. */
export const FreshnessBadge = ({ freshness }: { freshness: Freshness | null | undefined }) => {
  const { age, state } = freshness ?? { age: undefined, state: "UNKNOWN" as const };
  const [palette, word, Icon] = LOOKS[state];
  const shown = state === "UNKNOWN" ? "" : word;
  return (
    <Badge colorPalette={palette} title={`${word}${age === undefined ? "" : `: written ${longDuration(age)} ago`}`} variant="subtle">
      <Icon />
      {shown} {age === undefined ? "" : shortDuration(age)}
    </Badge>
  );
};

/** Who holds a lock, in words. */
export const holderOf = (lease: Lease): string => {
  if (lease.ownerType === "USER") return lease.user ?? lease.owner;
  const task = lease.ownerType === "TASK" && lease.taskId !== null ? `, task ${lease.taskId}` : "";
  return `run ${lease.runId ?? lease.owner} of ${lease.dagId ?? "an unknown Dag"}${task}`;
};

export const LockBadge = ({ lease }: { lease: Lease | null | undefined }) =>
  lease ? (
    <Badge colorPalette="orange" title={`Locked by ${holderOf(lease)} until ${lease.lockedUntil}`} variant="subtle">
      <LockIcon />
      Locked
    </Badge>
  ) : null;

const EVENT_PALETTE: Record<EventKind, string> = { CREATED: "green", DELETED: "red", UPDATED: "blue", USED: "gray" };

export const EventBadge = ({ kind }: { kind: EventKind }) => (
  <Badge colorPalette={EVENT_PALETTE[kind]} variant="subtle">
    {kind}
  </Badge>
);

export const Until = ({ lease }: { lease: Lease }) => <Time at={lease.lockedUntil} />;
