import { render } from "preact";
import { Page } from "./page";
import { startPolling } from "./state/polling";
import "uplot/dist/uPlot.min.css";
import "./style.css";

startPolling();
const place = document.getElementById("page");
if (place !== null) render(<Page />, place);
