import { Button, CloseButton, Dialog, Portal, Stack } from "@chakra-ui/react";
import { useState, type ReactNode } from "react";

import type { ApiProblem } from "../api/client";
import { ProblemCard } from "./states";

interface Props {
  /** What the button says that does it. */
  action: string;
  busy: boolean;
  children: ReactNode;
  danger?: boolean;
  onAction: () => Promise<boolean>;
  onOpen?: () => void;
  problem: ApiProblem | null;
  ready?: boolean;
  title: string;
  /** One of many in a table, so a small one. */
  small?: boolean;
  /** What the button says that opens the dialog. */
  trigger: string;
}

/** A button that asks before it does something: what, to what, and what the server said. */
export const ActionDialog = ({ action, busy, children, danger = false, onAction, onOpen, problem, ready = true, small = false, title, trigger }: Props) => {
  const [open, setOpen] = useState(false);
  const palette = danger ? "red" : "brand";
  return (
    <Dialog.Root
      lazyMount
      onOpenChange={(change) => {
        setOpen(change.open);
        if (change.open) onOpen?.();
      }}
      open={open}
      role={danger ? "alertdialog" : "dialog"}
      scrollBehavior="inside"
      unmountOnExit
    >
      <Dialog.Trigger asChild>
        <Button colorPalette={palette} size={small ? "xs" : "sm"} variant={danger || small ? "outline" : "solid"}>
          {trigger}
        </Button>
      </Dialog.Trigger>
      <Portal>
        <Dialog.Backdrop />
        <Dialog.Positioner>
          <Dialog.Content
            as="form"
            onSubmit={(event) => {
              event.preventDefault();
              if (!ready || busy) return;
              void onAction().then((done) => done && setOpen(false));
            }}
          >
            <Dialog.Header>
              <Dialog.Title>{title}</Dialog.Title>
            </Dialog.Header>
            <Dialog.Body>
              <Stack gap={4}>
                {children}
                {problem === null ? null : <ProblemCard problem={problem} />}
              </Stack>
            </Dialog.Body>
            <Dialog.Footer>
              <Dialog.ActionTrigger asChild>
                <Button size="sm" type="button" variant="outline">
                  Cancel
                </Button>
              </Dialog.ActionTrigger>
              <Button colorPalette={palette} disabled={!ready} loading={busy} size="sm" type="submit">
                {action}
              </Button>
            </Dialog.Footer>
            <Dialog.CloseTrigger asChild>
              <CloseButton size="sm" type="button" />
            </Dialog.CloseTrigger>
          </Dialog.Content>
        </Dialog.Positioner>
      </Portal>
    </Dialog.Root>
  );
};
