import type { ReactNode } from "react";

/** Line icons that take the colour and size of the text they stand in; the words beside them say what they mean. */
const icon = (path: ReactNode) => () => (
  <svg
    aria-hidden="true"
    fill="none"
    height="1em"
    stroke="currentColor"
    strokeLinecap="round"
    strokeLinejoin="round"
    strokeWidth={2}
    viewBox="0 0 24 24"
    width="1em"
  >
    {path}
  </svg>
);

export const LockIcon = icon(<path d="M6 11h12v10H6zM8 11V7a4 4 0 0 1 8 0v4" />);
export const CheckIcon = icon(<path d="M5 13l4 4L19 7" />);
export const ClockIcon = icon(<path d="M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z" />);
export const QuestionIcon = icon(<path d="M9 9a3 3 0 1 1 4 2.800c-.7.300-1 .9-1 1.700V14M12 18v.01" />);
export const CloseIcon = icon(<path d="M6 6l12 12M18 6L6 18" />);
export const SortDownIcon = icon(<path d="M12 5v14M6 13l6 6 6-6" />);
export const SortUpIcon = icon(<path d="M12 19V5M6 11l6-6 6 6" />);
