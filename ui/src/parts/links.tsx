import { Link as ChakraLink, type LinkProps } from "@chakra-ui/react";
import type { ReactNode } from "react";
import { Link as RouterLink } from "react-router-dom";

import type { Source, TaskRun } from "../api/generated";
import { assetAddress } from "../state/address";

/** A link inside Airflow's page. */
export const PageLink = ({ children, to, ...rest }: LinkProps & { children: ReactNode; to: string }) => (
  <ChakraLink asChild colorPalette="brand" fontWeight="medium" {...rest}>
    <RouterLink to={to}>{children}</RouterLink>
  </ChakraLink>
);

export const AssetLink = ({ id, name }: { id: string; name?: string | null }) => (
  <PageLink overflowWrap="anywhere" to={assetAddress(id)}>
    {name ?? id}
  </PageLink>
);

const part = encodeURIComponent;

/** Airflow's page of a Dag, a run or a task instance: as much as is known. */
export const airflowAddress = (at: { dagId: string; mapIndex?: number | null; runId?: string | null; taskId?: string | null }): string => {
  const run = at.runId ? `/runs/${part(at.runId)}` : "";
  const task = at.taskId ? `/tasks/${part(at.taskId)}` : "";
  const mapped = run && task && at.mapIndex !== undefined && at.mapIndex !== null && at.mapIndex >= 0 ? `/mapped/${at.mapIndex}` : "";
  return `/dags/${part(at.dagId)}${run}${task}${mapped}`;
};

export const TaskLink = ({ task }: { task: TaskRun }) => (
  <PageLink overflowWrap="anywhere" to={airflowAddress(task)}>
    {task.dagId} · {task.taskId}
    {task.mapIndex !== undefined && task.mapIndex >= 0 ? ` [${task.mapIndex}]` : ""}
  </PageLink>
);

/** Who wrote: a person, a task (with a link to it), or what else has a door. */
export const SourceText = ({ source }: { source: Source }) => {
  if (source.dagId && source.taskId) {
    return <TaskLink task={{ dagId: source.dagId, mapIndex: source.mapIndex ?? -1, runId: source.runId ?? "", taskId: source.taskId, tryNumber: source.tryNumber ?? 0 }} />;
  }
  return (
    <>
      {source.user ?? source.dagId ?? ""} ({source.kind})
    </>
  );
};
