"""What the shop's records are about: customers, products, days. All invented, all from a seed."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime

FIRST_NAMES = (  # noqa: SIM905
    "Ada Alan Amina Anja Aylin Ben Björn Carla Chloé Daniel Edsger Elif Emil Fatima Femke Finn "
    "Grace Hannah Hiro Ida Ines Jan Joana Jonas Kofi Lea Linus Luca Łukasz Mara Margaret Mia Mila "
    "Niklas Noor Olga Paul Priya Radia Rosa Sofía Tariq Tim Tove Uma Vera Wanda Yuki Zoë"
).split()
LAST_NAMES = (  # noqa: SIM905
    "Abbasi Andersson Bakker Becker Conti Da-Silva Dubois Eriksen Fischer García Haddad Hansen "
    "Ito Jansen Kaya Keller Kowalska Krüger Lamport Larsen Lehmann Lopez Mensah Meyer Moreau "
    "Nguyen Novák Okafor Papadopoulos Perlman Popescu Rossi Sato Schmidt Silva Sørensen Tanaka "
    "Turing Varga Virtanen Weber Wójcik Yılmaz"  # noqa: RUF001
).split()
CITIES = (
    ("Berlin", "DE"), ("Hamburg", "DE"), ("München", "DE"), ("Wien", "AT"), ("Zürich", "CH"),
    ("Paris", "FR"), ("Lyon", "FR"), ("Amsterdam", "NL"), ("København", "DK"), ("Malmö", "SE"),
    ("Kraków", "PL"), ("Lisboa", "PT"), ("Bologna", "IT"), ("Madrid", "ES"), ("Boston", "US"),
    ("Portland", "US"), ("Toronto", "CA"),
)  # fmt: skip
PRODUCTS = (
    ("TEA-0101", "Assam, 250 g", 890), ("TEA-0102", "Darjeeling first flush, 100 g", 1490),
    ("TEA-0103", "Earl Grey, 250 g", 950), ("TEA-0201", "Sencha, 100 g", 1190),
    ("TEA-0202", "Genmaicha, 100 g", 990), ("TEA-0301", "Rooibos, 250 g", 690),
    ("TEA-0302", "Peppermint, 50 g", 450), ("TEA-0401", "Advent calendar, 24 teas", 3490),
    ("POT-0101", "Teapot, glass, 0.8 l", 3900), ("POT-0102", "Teapot, cast iron, 1.2 l", 7900),
    ("POT-0103", "Teapot, stoneware, 1 l", 4500), ("CUP-0101", "Cup, porcelain, white", 1250),
    ("CUP-0102", "Cup, stoneware, blue", 1450), ("CUP-0103", "Matcha bowl", 2800),
    ("KIT-0101", "Kettle with thermometer", 6900), ("KIT-0102", "Tea strainer", 790),
    ("KIT-0103", "Paper filters, 100", 390), ("KIT-0104", "Bamboo whisk", 1690),
    ("BIS-0101", "Shortbread, 200 g", 490), ("BIS-0102", "Ginger biscuits, 150 g", 520),
    ("GFT-0101", "Gift card", 2500),
)  # fmt: skip
MONDAY = int(datetime(2024, 11, 25, tzinfo=UTC).timestamp()) * 1000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
# Visitors by hour of the day, UTC; the evening is the shop's time.
HOURLY_WEIGHTS = (
    *(2, 1, 1, 1, 1, 2, 5, 9, 12, 13, 13, 14),
    *(16, 14, 12, 12, 14, 18, 24, 28, 27, 20, 11, 5),
)
DAILY_WEIGHTS = (10, 9, 10, 12, 30)  # Monday to Black Friday


@dataclass
class Customer:
    """One customer as in the topic `customers`; changes over the week."""

    customer_id: str
    name: str
    email: str
    city: str
    country: str
    points: int = 0
    newsletter: bool = False

    @property
    def region(self) -> str:
        """Which payment service answers for this customer, ``us`` or ``eu``."""
        return "us" if self.country in {"US", "CA"} else "eu"


def make_customers(rng: random.Random, count: int) -> list[Customer]:
    """Return invented customers; mail addresses are at example.org, a name kept for examples."""
    customers = []
    for number in range(1, count + 1):
        first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
        city, country = rng.choice(CITIES)
        customers.append(
            Customer(
                customer_id=f"C-{10_000 + number * 7}",
                name=f"{first} {last}",
                email=f"{first}.{last}{number}@example.org".lower(),
                city=city,
                country=country,
                newsletter=rng.random() < 0.4,
            )
        )
    return customers


def make_moments(rng: random.Random, count: int) -> list[int]:
    """Return ``count`` moments of the week, ms since the epoch, ascending; busy in the evenings."""
    days = rng.choices(range(len(DAILY_WEIGHTS)), DAILY_WEIGHTS, k=count)
    hours = rng.choices(range(24), HOURLY_WEIGHTS, k=count)
    return sorted(
        MONDAY + day * DAY_MS + hour * HOUR_MS + rng.randrange(HOUR_MS)
        for day, hour in zip(days, hours, strict=True)
    )
