import { Alert, Field, HStack, NativeSelect, Text, Textarea } from "@chakra-ui/react";
import { useState } from "react";

import type { Asset, Lease } from "../../api/generated";
import { ActionDialog } from "../../parts/ActionDialog";
import { holderOf } from "../../parts/badges";
import { longDuration, Time, useNow } from "../../parts/time";
import { useCall, useRights, useWrite } from "../../state/queries";

/** Who holds the asset, for how long, and the way to unlock it. */
export const LockBanner = ({ asset }: { asset: Asset }) => {
  const may = useRights();
  return asset.lock && !asset.deleted ? <Held id={asset.id} lease={asset.lock} mayUnlock={may("UNLOCK")} /> : null;
};

/** Locks the asset, where nobody has. */
export const LockButton = ({ asset }: { asset: Asset }) => {
  const may = useRights();
  return may("LOCK") && !asset.lock && !asset.deleted ? <LockDialog id={asset.id} /> : null;
};

const Held = ({ id, lease, mayUnlock }: { id: string; lease: Lease; mayUnlock: boolean }) => {
  const now = useNow(1_000);
  const { data: me } = useCall("rights", {});
  const left = (Date.parse(lease.lockedUntil) - now) / 1000;
  const mine = lease.ownerType === "USER" && lease.user !== null && lease.user === me?.name;
  return (
    <Alert.Root aria-label="Lock" as="section" status="warning" variant="surface">
      <Alert.Indicator />
      <Alert.Content>
        <Alert.Title>Locked by {mine ? "you" : holderOf(lease)}</Alert.Title>
        <Alert.Description>
          <Text>
            Since <Time at={lease.acquired} />, for another {longDuration(left)}. Nobody else can write it until then.
          </Text>
        </Alert.Description>
      </Alert.Content>
      {mayUnlock ? <HStack>{mine ? <ReleaseDialog id={id} /> : <UnlockDialog id={id} lease={lease} />}</HStack> : null}
    </Alert.Root>
  );
};

const TIMES = [
  ["PT5M", "5 minutes"],
  ["PT15M", "15 minutes"],
  ["PT1H", "1 hour"],
  ["PT8H", "8 hours"],
  ["PT24H", "24 hours"],
] as const;

const LockDialog = ({ id }: { id: string }) => {
  const { error, isPending, mutateAsync, reset } = useWrite("acquire_leases");
  const [ttl, setTtl] = useState<string>("PT15M");
  return (
    <ActionDialog
      action="Lock"
      busy={isPending}
      onAction={async () => (await mutateAsync({ body: { assetIds: [id], ttl } }).catch(() => undefined)) !== undefined}
      onOpen={reset}
      problem={error}
      title="Lock this asset?"
      trigger="Lock"
    >
      <Text>Until you release it or the time is over, nobody else can write it: tasks that try are refused or wait.</Text>
      <Field.Root>
        <Field.Label>For</Field.Label>
        <NativeSelect.Root size="sm">
          <NativeSelect.Field onChange={(event) => setTtl(event.target.value)} value={ttl}>
            {TIMES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </NativeSelect.Field>
          <NativeSelect.Indicator />
        </NativeSelect.Root>
      </Field.Root>
    </ActionDialog>
  );
};

const ReleaseDialog = ({ id }: { id: string }) => {
  const { error, isPending, mutateAsync, reset } = useWrite("release_leases");
  return (
    <ActionDialog
      action="Unlock"
      busy={isPending}
      onAction={async () => (await mutateAsync({ body: { assetIds: [id] } }).catch(() => undefined)) !== undefined}
      onOpen={reset}
      problem={error}
      title="Give up your lock?"
      trigger="Unlock"
    >
      <Text>Everybody who may write this asset can write it again.</Text>
    </ActionDialog>
  );
};

const UnlockDialog = ({ id, lease }: { id: string; lease: Lease }) => {
  const { error, isPending, mutateAsync, reset } = useWrite("force_unlock");
  const [reason, setReason] = useState("");
  return (
    <ActionDialog
      action="Unlock by force"
      busy={isPending}
      danger
      onAction={async () => (await mutateAsync({ body: { assetId: id, reason } }).catch(() => undefined)) !== undefined}
      onOpen={() => {
        reset();
        setReason("");
      }}
      problem={error}
      ready={reason.trim() !== ""}
      title="Unlock by force?"
      trigger="Unlock by force"
    >
      <Text overflowWrap="anywhere">
        {holderOf(lease)} holds the lock and may be writing. What it writes from now on is refused.
      </Text>
      <Field.Root required>
        <Field.Label>
          Reason <Field.RequiredIndicator />
        </Field.Label>
        <Textarea maxLength={1000} onChange={(event) => setReason(event.target.value)} rows={3} value={reason} />
        <Field.HelperText>It is recorded with your name and the lock.</Field.HelperText>
      </Field.Root>
    </ActionDialog>
  );
};
