// The models of a router, and the one that the page talks to. A server with one model has no list:
// its requests name no model.
import { computed, signal } from "@preact/signals";
import type { ListedModel } from "../server/types";

const kChosen = "cairn.model";

// Empty unless the server is a router.
export const models = signal<ListedModel[]>([]);
const chosen = signal(localStorage.getItem(kChosen) ?? "");

// The chosen one; without a choice one that is loaded, or else the first. Empty unless the server
// is a router.
export const chosenModel = computed(() => {
  const known = models.value;
  const found =
    known.find((one) => one.id === chosen.value) ??
    known.find((one) => one.status.value === "loaded") ??
    known[0];
  return found?.id ?? "";
});

export function chooseModel(name: string): void {
  chosen.value = name;
  localStorage.setItem(kChosen, name);
}

export const isLoaded = computed(
  () =>
    models.value.length === 0 ||
    models.value.some((one) => one.id === chosenModel.value && one.status.value === "loaded"),
);

// Only a router's entries have a source.
export function takeModels(list: ListedModel[]): void {
  models.value = list.filter((one) => one.source !== undefined);
}

// The path for the chosen model. Looking at a model must not load it.
export function ofChosenModel(path: string): string {
  if (chosenModel.value === "") return path;
  const query = `model=${encodeURIComponent(chosenModel.value)}&autoload=false`;
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}
