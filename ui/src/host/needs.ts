/** What the pages take from the host's Chakra; a test compares this with what they import. */
export const CHAKRA_PARTS = [
  "Alert", "Badge", "Box", "Button", "Checkbox", "CloseButton", "Code", "Dialog", "EmptyState", "Field",
  "Flex", "Heading", "HStack", "Input", "Link", "Menu", "NativeSelect", "Portal", "Separator",
  "SimpleGrid", "Skeleton", "Stack", "Table", "Tabs", "Text", "Textarea", "VStack",
] as const; // prettier-ignore

const ROUTER_PARTS = ["Link", "useLocation", "useNavigate", "useSearchParams"] as const;

/** Names what the host lacks, e.g. `ChakraUI.DataList`; empty when all is there. */
export const missingFromHost = (): string[] => {
  const host = globalThis as unknown as Record<string, Record<string, unknown> | undefined>;
  const lacking = (module: string, parts: readonly string[]) =>
    parts.filter((part) => host[module]?.[part] === undefined).map((part) => `${module}.${part}`);
  return [...lacking("ChakraUI", CHAKRA_PARTS), ...lacking("ReactRouterDOM", ROUTER_PARTS)];
};
