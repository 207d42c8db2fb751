import { Component, lazy, Suspense, type ReactNode } from "react";

import { missingFromHost } from "./host/needs";
import { PlainCard } from "./host/PlainCard";

/** The name under which Airflow looks for the component; airflow_assets/ui/bundle.py says it to Airflow. */
const NAME = "Asset catalogue";

/** Where a host that shows the component in a tab is; all undefined on the page of its own. */
export interface Place {
  dagId?: string;
  mapIndex?: string;
  runId?: string;
  taskId?: string;
}

const App = lazy(() => import("./App"));

/** Shows a readable card where a white page would be: a chunk that cannot be loaded, a mistake of ours. */
class Boundary extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return (
      <PlainCard title="The asset catalogue cannot be shown">
        <p>{this.state.error.message}</p>
        <p>Load the page again; after an upgrade of the provider the browser may still have files of the old one.</p>
      </PlainCard>
    );
  }
}

const AssetCatalogue = (place: Place) => {
  const missing = missingFromHost();
  if (missing.length > 0) {
    return (
      <PlainCard title="This Airflow does not have what the asset catalogue needs">
        <p>Its page lacks: {missing.join(", ")}.</p>
        <p>Airflow 3.2 or newer is needed. The catalogue itself works: see `airflow assets-catalog --help`.</p>
      </PlainCard>
    );
  }
  return (
    <Boundary>
      <Suspense fallback={<p role="status">Loading the asset catalogue…</p>}>
        <App {...place} />
      </Suspense>
    </Boundary>
  );
};

(globalThis as Record<string, unknown>)[NAME] = AssetCatalogue;
