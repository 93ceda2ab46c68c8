import { render } from "preact";
import { login } from "@/api/login";
import { listenForKeys } from "@/keys/keys";
import { Page } from "@/Page";
import { followAppearance } from "@/state/appearance";
import { followHistory } from "@/state/navigation";
import "./theme.css";

followAppearance();
followHistory();
listenForKeys();
const root = document.getElementById("page");
void login().then(() => root && render(<Page />, root));
