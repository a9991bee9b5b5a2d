/**
 * Arrow keys between the tiles inside [data-device-grid]: left and right in reading order, up and down by place.
 * One tile is in the tab order, the one that was focused last; "t" opens the table twin of the page.
 */

function tilesOf(grid) {
  return [...grid.querySelectorAll(".tile")];
}

function keepOneTabStop(grid, current) {
  for (const tile of tilesOf(grid)) {
    tile.tabIndex = tile === current ? 0 : -1;
  }
}

/** The nearest tile above (direction -1) or below (1) the given one. */
function vertically(tiles, from, direction) {
  const start = from.getBoundingClientRect();
  const middle = (start.left + start.right) / 2;
  let nearest = null;
  let shortest = Infinity;
  for (const tile of tiles) {
    const place = tile.getBoundingClientRect();
    const down = (place.top - start.top) * direction;
    if (down < start.height / 2) {
      continue;
    }
    const distance = down * 1000 + Math.abs((place.left + place.right) / 2 - middle);
    if (distance < shortest) {
      [nearest, shortest] = [tile, distance];
    }
  }
  return nearest;
}

function next(tiles, from, key) {
  const index = tiles.indexOf(from);
  switch (key) {
    case "ArrowLeft": return tiles[index - 1];
    case "ArrowRight": return tiles[index + 1];
    case "ArrowUp": return vertically(tiles, from, -1);
    case "ArrowDown": return vertically(tiles, from, 1);
    case "Home": return tiles[0];
    case "End": return tiles.at(-1);
    default: return null;
  }
}

function prepare() {
  for (const grid of document.querySelectorAll("[data-device-grid]")) {
    const tiles = tilesOf(grid);
    keepOneTabStop(grid, tiles.find((tile) => tile === document.activeElement) ?? tiles[0]);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return;
  }
  const grid = event.target.closest("[data-device-grid]");
  const tile = event.target.closest(".tile");
  if (grid && tile) {
    const target = next(tilesOf(grid), tile, event.key);
    if (target) {
      event.preventDefault();
      target.focus();
    }
  }
  if (event.key === "t" && !event.target.closest("input, textarea, select")) {
    document.querySelector("[data-table-twin]")?.click();
  }
});

document.addEventListener("focusin", (event) => {
  const grid = event.target.closest("[data-device-grid]");
  if (grid && event.target.matches(".tile")) {
    keepOneTabStop(grid, event.target);
  }
});

document.addEventListener("htmx:afterSettle", prepare);
prepare();
