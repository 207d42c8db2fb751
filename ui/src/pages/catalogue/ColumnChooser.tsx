import { Button, Menu, Portal } from "@chakra-ui/react";

import type { Address } from "../../state/address";
import { COLUMNS, columnsOf, METADATA } from "./columns";
import { useKnownKeys } from "./knownKeys";

/** Which columns the table has: those of every asset, and any metadata key. */
export const ColumnChooser = ({ address }: { address: Address }) => {
  const shown = columnsOf(address);
  const choices: [string, string][] = [...COLUMNS.slice(1), ...useKnownKeys().slice(0, 30).map((key): [string, string] => [METADATA + key, key])];
  const change = (name: string, on: boolean) => {
    const others = columnsOf(address.now()).filter((other) => other !== name);
    address.set({ column: on ? [...others, name] : others, cursor: address.now().get("cursor") }, { replace: true });
  };
  return (
    <Menu.Root closeOnSelect={false}>
      <Menu.Trigger asChild>
        <Button size="sm" variant="outline">
          Columns
        </Button>
      </Menu.Trigger>
      <Portal>
        <Menu.Positioner>
          <Menu.Content maxHeight="60vh" overflowY="auto">
            {choices.map(([name, title]) => (
              <Menu.CheckboxItem checked={shown.includes(name)} key={name} onCheckedChange={(on) => change(name, on)} value={name}>
                <Menu.ItemIndicator />
                {title}
              </Menu.CheckboxItem>
            ))}
          </Menu.Content>
        </Menu.Positioner>
      </Portal>
    </Menu.Root>
  );
};
