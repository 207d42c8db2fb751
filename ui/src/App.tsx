import { QueryClientProvider } from "@tanstack/react-query";

import type { Place } from "./main";
import { Layout } from "./parts/Layout";
import { AssetPage } from "./pages/asset/AssetPage";
import { CataloguePage } from "./pages/catalogue/CataloguePage";
import { LocksPage } from "./pages/LocksPage";
import { TouchedAssets } from "./pages/TouchedAssets";
import { queryClient } from "./state/queries";
import { usePageName } from "./state/address";

/** The page of its own, or the tab of a Dag, a run or a task instance. */
const App = (place: Place) => (
  <QueryClientProvider client={queryClient}>
    {place.dagId === undefined ? <Pages /> : <TouchedAssets place={{ ...place, dagId: place.dagId }} />}
  </QueryClientProvider>
);

const Pages = () => {
  const page = usePageName();
  if (page === "asset") return <AssetPage />;
  return <Layout page={page}>{page === "locks" ? <LocksPage /> : <CataloguePage />}</Layout>;
};

export default App;
