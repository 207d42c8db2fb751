import { Alert, Box, Button, EmptyState, Skeleton, Stack, Text, VStack } from "@chakra-ui/react";
import type { ReactNode } from "react";

import type { ApiProblem } from "../api/client";

/** Grey lines where something will be; says so to screen readers. */
export const Loading = ({ label, lines = 5 }: { label: string; lines?: number }) => (
  <Box aria-busy="true" aria-label={`Loading ${label}`} role="status">
    <Stack gap={2}>
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton height={6} key={line} />
      ))}
    </Stack>
  </Box>
);

/** What to read where there is nothing, and the way on. */
export const Nothing = ({ children, title }: { children?: ReactNode; title: string }) => (
  <EmptyState.Root size="sm">
    <EmptyState.Content>
      <VStack textAlign="center">
        <EmptyState.Title>{title}</EmptyState.Title>
        <EmptyState.Description>{children}</EmptyState.Description>
      </VStack>
    </EmptyState.Content>
  </EmptyState.Root>
);

/** A refusal of the server: what happened, the way out, and another try where one may help. */
export const ProblemCard = ({ again, problem }: { again?: () => void; problem: ApiProblem }) => {
  const forbidden = problem.status === 403;
  const title = forbidden ? "You may not see this" : (problem.document.title ?? "This did not work");
  return (
    <Alert.Root alignItems="flex-start" role="alert" status={forbidden ? "info" : "error"} variant="surface">
      <Alert.Indicator />
      <Alert.Content>
        <Alert.Title>{title}</Alert.Title>
        <Alert.Description>
          <Text overflowWrap="anywhere">{problem.message}</Text>
          {problem.document.hint === undefined ? undefined : <Text>{problem.document.hint}</Text>}
          {typeof problem.document.logId === "string" ? <Text>In the server's log: {problem.document.logId}</Text> : undefined}
          {again === undefined || forbidden ? undefined : (
            <Button mt={2} onClick={again} size="xs" variant="outline">
              Try again
            </Button>
          )}
        </Alert.Description>
      </Alert.Content>
    </Alert.Root>
  );
};

interface Asked<Data> {
  data: Data | undefined;
  error: ApiProblem | null;
  refetch: () => unknown;
}

/** Shows what was asked for once it is there; until then that it is loading, or why it cannot be shown. */
export function Answered<Data>({ asked, children, label }: { asked: Asked<Data>; children: (data: Data) => ReactNode; label: string }) {
  if (asked.error !== null) return <ProblemCard again={() => void asked.refetch()} problem={asked.error} />;
  return asked.data === undefined ? <Loading label={label} /> : children(asked.data);
}
