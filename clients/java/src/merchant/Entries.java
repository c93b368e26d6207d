package merchant;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Values in records and requests that several classes read. */
final class Entries {
    private Entries() {}

    /** The number of an entry's subscription. */
    static BigInteger idOf(Object entry) {
        Object id = null;
        if (entry instanceof Map<?, ?> map) {
            id = map.get("subscribeId") == null ? map.get("subscriptionId") : map.get("subscribeId");
        }
        BigInteger number = number(id);
        if (number == null) {
            throw new IllegalArgumentException("an entry has no subscribeId");
        }
        return number;
    }

    /** The integer of an id that is an integer or its digits; null for everything else. */
    static BigInteger number(Object id) {
        String text = String.valueOf(id);
        return id != null && text.matches("[0-9]{1,19}") ? new BigInteger(text) : null;
    }

    /** The objects of a list. */
    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> records(Object list) {
        if (!(list instanceof List<?> all)) {
            return List.of();
        }
        return all.stream().filter(one -> one instanceof Map<?, ?>).map(one -> (Map<String, Object>) one).toList();
    }

    /** A decimal in text as base units. Refuses what is finer than the currency. */
    static BigInteger baseUnits(String decimal, int decimals) {
        if (!decimal.matches("[0-9]+(\\.[0-9]+)?")) {
            throw new IllegalArgumentException(decimal + " is no decimal such as \"10.5\"");
        }
        try {
            return new BigDecimal(decimal).movePointRight(decimals).toBigIntegerExact();
        } catch (ArithmeticException why) {
            throw new IllegalArgumentException(decimal + " is finer than " + decimals + " decimals", why);
        }
    }

    /** Hex addresses may be spelled in capitals for their checksum; base58 ones differ by case. */
    static String spelling(String address) {
        return address.toLowerCase(Locale.ROOT).startsWith("0x") ? address.toLowerCase(Locale.ROOT) : address;
    }
}
