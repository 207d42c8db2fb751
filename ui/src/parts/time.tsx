import { useEffect, useState } from "react";

const UNITS: [seconds: number, short: string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** A duration in its largest unit, `3 h`; `0 s` for less than one. */
export const shortDuration = (seconds: number): string => {
  const whole = Math.max(0, Math.floor(seconds));
  const [size, unit] = UNITS.find(([size]) => whole >= size) ?? [1, "s"];
  return `${Math.floor(whole / size)} ${unit}`;
};

/** A duration in its two largest units, `3 h 12 min`. */
export const longDuration = (seconds: number): string => {
  const whole = Math.max(0, Math.floor(seconds));
  const index = UNITS.findIndex(([size]) => whole >= size);
  if (index < 0) return "0 s";
  const [size, unit] = UNITS[index]!;
  const next = UNITS[index + 1];
  const rest = next === undefined ? 0 : Math.floor((whole % size) / next[0]);
  return `${Math.floor(whole / size)} ${unit}${rest > 0 && next ? ` ${rest} ${next[1]}` : ""}`;
};

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A moment in the user's own time zone; the exact one is its tooltip. */
export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {FORMAT.format(new Date(at))}
  </time>
);

/** How long ago a moment was; the exact one is its tooltip. */
export const Ago = ({ at }: { at: string }) => {
  const now = useNow(10_000);
  return (
    <time dateTime={at} title={FORMAT.format(new Date(at))}>
      {shortDuration((now - Date.parse(at)) / 1000)} ago
    </time>
  );
};

/** The time now, looked at every so many milliseconds. */
export const useNow = (every: number): number => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
};
