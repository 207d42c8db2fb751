import { QueryClient, useMutation, useQuery, type UseQueryResult } from "@tanstack/react-query";

import { ApiProblem, call } from "../api/client";
import type { Operations } from "../api/generated";

/** One memory for all our pages; a refusal is not asked for again, a server that is busy is. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 2 && error instanceof ApiProblem && error.status === 503,
      staleTime: 5_000,
    },
  },
});

type Given<Name extends keyof Operations> = Parameters<typeof call<Name>>[1];

interface Options {
  enabled?: boolean;
  /** Keep showing the last answer while another question is asked. */
  keep?: boolean;
  /** Ask again every so many milliseconds while the page is seen. */
  every?: number;
}

/** Asks the catalogue, and remembers the answer. */
export const useCall = <Name extends keyof Operations>(
  name: Name,
  given: Given<Name>,
  { enabled = true, every, keep = false }: Options = {},
): UseQueryResult<Operations[Name]["response"], ApiProblem> =>
  useQuery<Operations[Name]["response"], ApiProblem>({
    enabled,
    ...(keep ? { placeholderData: (before: Operations[Name]["response"] | undefined) => before as never } : {}),
    queryFn: ({ signal }) => call(name, { ...given, signal }),
    queryKey: [name, given],
    ...(every === undefined ? {} : { refetchInterval: every }),
  });

/** Writes, and then has everything that is shown asked for anew. */
export const useWrite = <Name extends keyof Operations>(name: Name) =>
  useMutation<Operations[Name]["response"], ApiProblem, Given<Name>>({
    mutationFn: (given) => call(name, given),
    onSettled: () => queryClient.invalidateQueries(),
  });

type Action = Operations["rights"]["response"]["actions"][number];

/** What the logged-in user may do, so that no control is shown that would be refused. */
export const useRights = (): ((action: Action) => boolean) => {
  const { data } = useCall("rights", {});
  return (action) => data?.actions.includes(action) ?? false;
};
