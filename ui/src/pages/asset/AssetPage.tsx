import { Badge, Box, Flex, Heading, HStack, Stack, Tabs, Text } from "@chakra-ui/react";
import { lazy, Suspense, type ComponentType } from "react";

import type { Asset } from "../../api/generated";
import { FreshnessBadge } from "../../parts/badges";
import { PageLink } from "../../parts/links";
import { Answered, Loading } from "../../parts/states";
import { addressOf, useAddress } from "../../state/address";
import { useCall } from "../../state/queries";
import { shortType } from "../catalogue/Facets";
import { Events } from "./Events";
import { History } from "./History";
import { LockBanner, LockButton } from "./LockBanner";
import { Overview } from "./Overview";
import { Runs } from "./Runs";

const Lineage = lazy(() => import("./Lineage"));

const TABS: [name: string, title: string, Content: ComponentType<{ asset: Asset }>][] = [
  ["overview", "Overview", Overview],
  ["events", "Events", Events],
  ["lineage", "Lineage", Lineage],
  ["runs", "Runs", Runs],
  ["history", "History", History],
];

/** One asset; which one and which tab is in the address. */
export const AssetPage = () => {
  const address = useAddress();
  const id = address.get("id");
  const asked = useCall("get_asset", { path: id, query: { includeDeleted: true } }, { enabled: id !== "", every: 15_000 });
  return (
    <Box p={{ base: 2, md: 4 }}>
      <PageLink to={addressOf("")}>Catalogue</PageLink>
      {id === "" ? <Text mt={4}>The address names no asset.</Text> : <Answered asked={asked} label="the asset">{(asset) => <Content asset={asset} />}</Answered>}
    </Box>
  );
};

const Content = ({ asset }: { asset: Asset }) => {
  const address = useAddress();
  const asked = address.get("tab");
  const tab = TABS.some(([name]) => name === asked) ? asked : "overview";
  return (
    <Stack gap={3}>
      <Title asset={asset} />
      <LockBanner asset={asset} />
      <Tabs.Root
        colorPalette="brand"
        lazyMount
        onValueChange={({ value }) => address.set({ cursor: undefined, tab: value })}
        size="sm"
        unmountOnExit
        value={tab}
      >
        <Tabs.List aria-label="About the asset" overflowX="auto">
          {TABS.map(([name, title]) => (
            <Tabs.Trigger key={name} value={name}>
              {title}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {TABS.map(([name, title, Tab]) => (
          <Tabs.Content key={name} value={name}>
            <Suspense fallback={<Loading label={title} />}>
              <Tab asset={asset} />
            </Suspense>
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </Stack>
  );
};

const Title = ({ asset }: { asset: Asset }) => (
  <Flex align="center" columnGap={3} wrap="wrap">
    <Heading as="h1" overflowWrap="anywhere" size="xl">
      {asset.displayName ?? asset.id}
    </Heading>
    <HStack wrap="wrap">
      <Badge title={asset.type} variant="outline">
        {shortType(asset.type)}
      </Badge>
      {asset.deleted ? <Badge colorPalette="red">Deleted</Badge> : <FreshnessBadge freshness={asset.freshness} />}
    </HStack>
    <Box marginInlineStart="auto">
      <LockButton asset={asset} />
    </Box>
    {asset.displayName && asset.displayName !== asset.id ? (
      <Text color="fg.muted" fontSize="sm" overflowWrap="anywhere" width="100%">
        {asset.id}
      </Text>
    ) : null}
  </Flex>
);
