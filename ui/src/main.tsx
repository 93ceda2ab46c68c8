import { render } from "preact";
import { listenForKeys } from "@/keys/keys";
import { Page } from "@/Page";
import { followAppearance } from "@/state/appearance";
import { followHistory } from "@/state/navigation";
import "./theme.css";

followAppearance();
followHistory();
listenForKeys();
const root = document.getElementById("page");
if (root) render(<Page />, root);
