import type { ReactNode } from "react";

/** A card without Chakra, for when there is no Chakra; it inherits the page's colours. */
export const PlainCard = ({ children, title }: { children: ReactNode; title: string }) => (
  <section
    role="alert"
    style={{ border: "1px solid currentColor", borderRadius: 8, margin: "2rem auto", maxWidth: "40rem", padding: "1.5rem" }}
  >
    <h1 style={{ fontSize: "1.25rem", fontWeight: 600, marginBottom: "0.5rem" }}>{title}</h1>
    {children}
  </section>
);
