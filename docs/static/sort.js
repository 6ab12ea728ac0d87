// Tables of class "sortable": a click, or Enter, on the head of a column sorts by it; cells without a value come last.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".sortable table")) {
    const heads = [...table.querySelectorAll("thead th")];
    const sort = (place) => {
      const falling = heads[place].getAttribute("aria-sort") === "ascending";
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[place].setAttribute("aria-sort", falling ? "descending" : "ascending");
      const body = table.tBodies[0];
      const text = (row) => row.cells[place].textContent.trim();
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [text(a), text(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const numbers = !isNaN(x) && !isNaN(y);
        return (falling ? -1 : 1) * (numbers ? x - y : x.localeCompare(y));
      });
      body.append(...rows);
    };
    heads.forEach((head, place) => {
      head.tabIndex = 0;
      head.addEventListener("click", () => sort(place));
      head.addEventListener("keydown", (event) => {
        if (event.key === "Enter") sort(place);
      });
    });
  }
});
