"""One week of the shop's business, from Monday's import to Black Friday's last payment."""

import json
import random
from bisect import bisect_left
from datetime import UTC, datetime
from typing import NamedTuple
from zlib import crc32

from client import Client, Record
from people import DAY_MS, HOUR_MS, MONDAY, PRODUCTS, Customer, make_customers, make_moments

SLICE_MS = HOUR_MS // 2
# The provider of card payments was down on Wednesday afternoon: nearly every transaction aborts.
OUTAGE = range(MONDAY + 2 * DAY_MS + 14 * HOUR_MS, MONDAY + 2 * DAY_MS + 17 * HOUR_MS)


class Order(NamedTuple):
    """An order, as the payment service needs it after it was placed."""

    at: int  # ms
    order_id: str
    customer: Customer
    total_cents: int
    partition: int


def as_json(**fields: object) -> bytes:
    """Return the fields as compact JSON in UTF-8."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def clock(at: int) -> str:
    """Return a moment in ms as ISO 8601 in UTC."""
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Week:
    """The shop's week, played through clients; the state that outlives a run of the broker.

    Args:
        seed: of everything invented.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311
        self._customers = make_customers(self._rng, 420)
        self._gone: set[str] = set()
        self._unpaid: list[Order] = []
        self._orders_seen = [0, 0, 0]
        self._order_number = 48_210
        self._payment_number = 70_001
        self._moments: dict[str, list[int]] = {
            "order": make_moments(self._rng, 5200),
            "profile": make_moments(self._rng, 2600),
            "click": make_moments(self._rng, 150_000),
        }
        self._sessions: list[bytes] = []

    def play(self, client: Client, day_from: int, day_to: int) -> None:
        """Play some days, half an hour at a time."""
        for start in range(MONDAY + day_from * DAY_MS, MONDAY + day_to * DAY_MS, SLICE_MS):
            orders = self._moments_until("order", start + SLICE_MS)
            self._place_orders(client, orders)
            self._change_profiles(client, self._moments_until("profile", start + SLICE_MS))
            self._click(client, len(self._moments_until("click", start + SLICE_MS)))
            self._pay(client, start + SLICE_MS)

    def register_everyone(self, client: Client) -> None:
        """Write each customer's first profile, as the import on Monday morning did."""
        for number, customer in enumerate(self._customers):
            self._write_profile(client, customer, MONDAY + number * 40)
            if number % 60 == 59:
                client.call("flush", "crm")
        client.call("flush", "crm")

    def leave_a_transaction_open(self, client: Client) -> None:
        """Begin a payment and never end it: the service is killed."""
        client.call("begin", "payments-eu")
        order = self._next_order(MONDAY + 5 * DAY_MS - 90_000)
        for attempt in range(3):
            self._write_payment(client, order, order.at + 20_000 * attempt, "payments-eu")
        client.call("flush", "payments-eu")

    def _moments_until(self, kind: str, end: int) -> list[int]:
        moments = self._moments[kind]
        count = bisect_left(moments, end)
        taken, self._moments[kind] = moments[:count], moments[count:]
        return taken

    def _someone(self) -> Customer:
        # Some customers come often: the product of two chances prefers the first of the list.
        while True:
            place = self._rng.random() * self._rng.random()
            customer = self._customers[int(place * len(self._customers))]
            if customer.customer_id not in self._gone:
                return customer

    def _next_order(self, at: int) -> Order:
        customer = self._someone()
        self._order_number += 1
        partition = crc32(customer.customer_id.encode()) % 3
        return Order(at, f"O-{self._order_number}", customer, 0, partition)

    def _place_orders(self, client: Client, moments: list[int]) -> None:
        rng = self._rng
        for at in moments:
            channel = rng.choices(("web-shop", "mobile-app", "till-berlin"), (60, 28, 12))[0]
            # The app sends when it is online again, so its records may be late.
            placed = (
                at - rng.randrange(20 * 60_000)
                if channel == "mobile-app" and rng.random() < 0.1
                else at
            )
            order = self._next_order(placed)
            items = [
                (sku, name, rng.choice((1, 1, 1, 2, 3)), cents)
                for sku, name, cents in rng.sample(PRODUCTS, rng.choice((1, 1, 2, 2, 3, 4)))
            ]
            total = sum(quantity * cents for _, _, quantity, cents in items)
            order = order._replace(total_cents=total)
            value = as_json(
                order_id=order.order_id,
                customer_id=order.customer.customer_id,
                placed_at=clock(placed),
                channel=channel,
                ship_to={"city": order.customer.city, "country": order.customer.country},
                items=[
                    {"sku": sku, "name": name, "quantity": quantity, "cents": cents}
                    for sku, name, quantity, cents in items
                ],
                total_cents=total,
                currency="USD" if order.customer.region == "us" else "EUR",
            )
            headers: tuple[tuple[str, bytes | None], ...] = (
                ("trace-id", rng.randbytes(8).hex().encode()),
                ("content-type", b"application/json"),
            )
            if channel == "mobile-app":
                headers += (("app-version", rng.choice((b"5.1.0", b"5.1.2", b"5.2.0"))),)
            if rng.random() < 0.03:  # sent twice by two campaigns, and one without a value
                headers += (
                    ("campaign", b"black-friday"),
                    ("campaign", b"tea-advent"),
                    ("coupon", None),
                )
            record = Record(order.order_id.encode(), value, placed, headers)
            client.send(channel, "orders", order.partition, record)
            self._unpaid.append(order)
            self._orders_seen[order.partition] += 1
        for channel in ("web-shop", "mobile-app", "till-berlin"):
            client.call("flush", channel)

    def _change_profiles(self, client: Client, moments: list[int]) -> None:
        for at in moments:
            customer = self._someone()
            if self._rng.random() < 0.012:
                self._gone.add(customer.customer_id)
                key = customer.customer_id.encode()
                client.send("crm", "customers", crc32(key) % 2, Record(key, None, at))
                continue
            if self._rng.random() < 0.1:
                customer.newsletter = not customer.newsletter
            customer.points += self._rng.randrange(5, 120)
            self._write_profile(client, customer, at)
        if moments:
            client.call("flush", "crm")

    def _write_profile(self, client: Client, customer: Customer, at: int) -> None:
        key = customer.customer_id.encode()
        value = as_json(
            customer_id=customer.customer_id,
            name=customer.name,
            email=customer.email,
            city=customer.city,
            country=customer.country,
            points=customer.points,
            newsletter=customer.newsletter,
            changed_at=clock(at),
        )
        client.send("crm", "customers", crc32(key) % 2, Record(key, value, at))

    def _click(self, client: Client, count: int) -> None:
        """Send page views, a batch for some dozens of them; the broker stamps the time."""
        rng = self._rng
        while count > 0:
            batch = min(count, rng.randrange(40, 260))
            count -= batch
            partition = rng.randrange(2)
            for _ in range(batch):
                if not self._sessions or rng.random() < 0.06:
                    self._sessions.append(rng.randbytes(5).hex().encode())
                    del self._sessions[:-24]
                session = rng.choice(self._sessions)
                sku = rng.choice(PRODUCTS)[0]
                action, page = rng.choice(
                    (
                        ("view", f"/tea/{sku}"),
                        ("view", f"/tea/{sku}"),
                        ("view", "/"),
                        ("search", "/search?q=advent"),
                        ("add", f"/basket/{sku}"),
                    )
                )
                value = as_json(
                    page=page, action=action, ms=rng.choice((4, 9, 15, 22, 38, 71, 130))
                )
                client.send("tracker", "clicks", partition, Record(session, value))
            client.call("flush", "tracker")

    def _pay(self, client: Client, now: int) -> None:
        """Pay the orders of the last half hour, a few in each transaction, both regions in turn."""
        rng = self._rng
        for region in rng.sample(("eu", "us"), 2):
            due = [order for order in self._unpaid if order.customer.region == region]
            producer = f"payments-{region}"
            while due:
                count = rng.randrange(4, 16)
                some, due = due[:count], due[count:]
                client.call("begin", producer)
                for order in some:
                    self._write_payment(
                        client, order, order.at + rng.randrange(4_000, 90_000), producer
                    )
                if rng.random() < (0.85 if now in OUTAGE else 0.04):
                    client.call("abort", producer)
                    continue
                for partition in {order.partition for order in some}:
                    seen = self._orders_seen[partition]
                    client.call(
                        "offset", producer, "payment-service", "orders", partition, seen, producer
                    )
                client.call("commit", producer)
        self._unpaid.clear()

    def _write_payment(self, client: Client, order: Order, at: int, producer: str) -> None:
        self._payment_number += 1
        value = as_json(
            payment_id=f"P-{self._payment_number}",
            order_id=order.order_id,
            method=self._rng.choices(("card", "paypal", "invoice"), (7, 3, 1))[0],
            cents=order.total_cents,
            authorised_at=clock(at),
        )
        partition = 0 if producer == "payments-eu" else 1
        if self._rng.random() < 0.1:  # a gift card is worth the same everywhere
            partition = 1 - partition
        client.send(producer, "payments", partition, Record(order.order_id.encode(), value, at))
