import { Box, Flex, Heading, HStack } from "@chakra-ui/react";
import type { ReactNode } from "react";

import { addressOf, type PageName } from "../state/address";
import { PageLink } from "./links";

const PAGES: [page: PageName, title: string][] = [
  ["", "Catalogue"],
  ["locks", "Locks"],
];

/** What every page has: its heading, and the way to the others. */
export const Layout = ({ children, page }: { children: ReactNode; page: string }) => (
  <Box maxWidth="100%" p={{ base: 2, md: 4 }}>
    <Flex align="baseline" gap={4} justify="space-between" mb={3} wrap="wrap">
      <Heading as="h1" size="xl">
        {PAGES.find(([name]) => name === page)?.[1] ?? "Catalogue"}
      </Heading>
      <HStack as="nav" aria-label="Asset catalogue" gap={4}>
        {PAGES.map(([name, title]) => (
          <PageLink aria-current={name === page ? "page" : undefined} key={name} to={addressOf(name)} variant={name === page ? "underline" : "plain"}>
            {title}
          </PageLink>
        ))}
      </HStack>
    </Flex>
    {children}
  </Box>
);
