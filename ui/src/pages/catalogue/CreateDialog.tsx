import { Field, Input, Textarea } from "@chakra-ui/react";
import { useState } from "react";
import { useNavigate } from "react-router-dom";

import { parseExact } from "../../api/exactJson";
import { ActionDialog } from "../../parts/ActionDialog";
import { assetAddress } from "../../state/address";
import { useWrite } from "../../state/queries";

const EMPTY = { description: "", displayName: "", id: "", metadata: "{}", namespace: "", type: "airflow_assets.types.Table" };

/** Makes an asset; the server refuses an id that is used. */
export const CreateDialog = () => {
  const navigate = useNavigate();
  const { error, isPending, mutateAsync, reset } = useWrite("create_asset");
  const [form, setForm] = useState(EMPTY);
  const metadata = objectOf(form.metadata);
  const field = (name: keyof typeof EMPTY) => ({
    onChange: (event: { target: { value: string } }) => setForm({ ...form, [name]: event.target.value }),
    size: "sm" as const,
    value: form[name],
  });
  const wrong = (name: string) => error?.document.field === name;
  return (
    <ActionDialog
      action="Create asset"
      busy={isPending}
      onAction={async () => {
        const body = {
          description: form.description || undefined,
          displayName: form.displayName || undefined,
          id: form.id,
          metadata: metadata ?? {},
          namespace: form.namespace || undefined,
          type: form.type,
        };
        const made = await mutateAsync({ body }).catch(() => undefined);
        if (made !== undefined) await navigate(assetAddress(made.id));
        return made !== undefined;
      }}
      onOpen={() => {
        reset();
        setForm(EMPTY);
      }}
      problem={error}
      ready={form.id !== "" && form.type !== "" && metadata !== undefined}
      title="Create an asset"
      trigger="Create asset"
    >
      <Field.Root invalid={wrong("id")} required>
        <Field.Label>
          Id <Field.RequiredIndicator />
        </Field.Label>
        <Input {...field("id")} autoComplete="off" />
      </Field.Root>
      <Field.Root invalid={wrong("type")} required>
        <Field.Label>
          Type <Field.RequiredIndicator />
        </Field.Label>
        <Input {...field("type")} />
      </Field.Root>
      <Field.Root invalid={wrong("namespace")}>
        <Field.Label>Namespace</Field.Label>
        <Input {...field("namespace")} />
      </Field.Root>
      <Field.Root invalid={wrong("displayName")}>
        <Field.Label>Display name</Field.Label>
        <Input {...field("displayName")} />
      </Field.Root>
      <Field.Root invalid={wrong("description")}>
        <Field.Label>Description</Field.Label>
        <Textarea {...field("description")} rows={3} />
        <Field.HelperText>Markdown.</Field.HelperText>
      </Field.Root>
      <Field.Root invalid={metadata === undefined || wrong("metadata")}>
        <Field.Label>Metadata</Field.Label>
        <Textarea {...field("metadata")} fontFamily="mono" rows={4} spellCheck={false} />
        <Field.ErrorText color="red.fg">This is not a JSON object, like {'{"owner": "data"}'}.</Field.ErrorText>
      </Field.Root>
    </ActionDialog>
  );
};

/** The JSON object that a text is; undefined if it is none. */
const objectOf = (text: string): Record<string, unknown> | undefined => {
  try {
    const value = parseExact(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
};
