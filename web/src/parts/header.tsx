import { connection } from "../state/connection";
import { model } from "../state/polling";
import { nextTheme, theme } from "../state/theme";

const kStates = {
  here: "",
  away: "The server does not answer. This page tries again every second.",
  loading: "The server is loading its model.",
};

export function Header() {
  return (
    <header>
      <div class="bar">
        <img class="mark" src="./assets/icon.svg" alt="" width="28" height="28" />
        <h1>Cairn</h1>
        <span class="model">{model.value}</span>
        <button type="button" class="quiet" onClick={nextTheme}>
          Theme: {theme.value}
        </button>
      </div>
      <p class={`notice ${connection.value}`} role="status">
        {kStates[connection.value]}
      </p>
    </header>
  );
}
