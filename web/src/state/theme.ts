// Light, dark, or as the system has it.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const kPlace = "cairn.theme";
const kAll: Theme[] = ["system", "light", "dark"];

function stored(): Theme {
  const text = localStorage.getItem(kPlace);
  return kAll.find((theme) => theme === text) ?? "system";
}

export const theme = signal<Theme>(stored());

export function nextTheme(): void {
  theme.value = kAll[(kAll.indexOf(theme.value) + 1) % kAll.length] ?? "system";
  localStorage.setItem(kPlace, theme.value);
}

// What is shown now: charts draw their own pixels and must know.
export const dark = signal(false);

const system = matchMedia("(prefers-color-scheme: dark)");

function show(): void {
  dark.value = theme.value === "dark" || (theme.value === "system" && system.matches);
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
}

system.addEventListener("change", show);
effect(show);
