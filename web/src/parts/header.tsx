import { connection } from "../state/connection";
import { chooseModel, chosenModel, models } from "../state/models";
import { model } from "../state/polling";
import { nextTheme, theme } from "../state/theme";

const kStates = {
  here: "",
  away: "The server does not answer. This page tries again every second.",
  loading: "The server is loading its model.",
};

function Model() {
  if (models.value.length === 0) return <span class="model">{model.value}</span>;
  return (
    <span class="model">
      <select
        aria-label="Model"
        value={chosenModel.value}
        onChange={(event) => chooseModel(event.currentTarget.value)}
      >
        {models.value.map((one) => (
          <option key={one.id} value={one.id}>
            {one.id} ({one.status.failed ? "failed" : one.status.value})
          </option>
        ))}
      </select>
    </span>
  );
}

export function Header() {
  return (
    <header>
      <div class="bar">
        <img class="mark" src="./assets/icon.svg" alt="" width="28" height="28" />
        <h1>Cairn</h1>
        <Model />
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
