import type { Asset } from "../../api/generated";

const Lineage = ({ asset }: { asset: Asset }) => <p>{asset.id}</p>;

export default Lineage;
