package merchant;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON without loss: integers are BigInteger, other numbers keep their text (JsonNumber), objects are maps in their order, lists
 * are lists.
 */
public final class Json {
    /** So many objects and lists may be within each other. */
    private static final int DEEPEST = 100;
    /** So many digits does an integer have that is a BigInteger. */
    private static final int MOST_DIGITS = 1000;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads JSON. Throws IllegalArgumentException for everything else. */
    public static Object parse(String text) {
        Json reader = new Json(text);
        Object value = reader.value(0);
        reader.blanks();
        if (reader.at != text.length()) {
            throw reader.fault("the end");
        }
        return value;
    }

    /** Reads JSON in UTF-8. */
    public static Object parse(byte[] bytes) {
        try {
            return parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException why) {
            throw new IllegalArgumentException("no UTF-8", why);
        }
    }

    /** Writes what {@code parse} has read, digit for digit, and the integers of Java. Refuses floating point. */
    public static String dump(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value == null || value instanceof Boolean || value instanceof BigInteger || value instanceof JsonNumber
                || value instanceof Long || value instanceof Integer || value instanceof Short) {
            out.append(value);
        } else if (value instanceof String string) {
            quote(string, out);
        } else if (value instanceof List<?> list) {
            char before = '[';
            for (Object one : list) {
                out.append(before);
                write(one, out);
                before = ',';
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof Map<?, ?> map) {
            char before = '{';
            for (Map.Entry<?, ?> field : map.entrySet()) {
                out.append(before);
                quote((String) field.getKey(), out);
                out.append(':');
                write(field.getValue(), out);
                before = ',';
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else {
            throw new IllegalArgumentException("a " + value.getClass().getSimpleName() + " has no exact JSON");
        }
    }

    private static void quote(String string, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < string.length(); i++) {
            char c = string.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ') {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }

    private Object value(int depth) {
        blanks();
        char first = peek();
        switch (first) {
            case '{':
                return object(depth + 1);
            case '[':
                return list(depth + 1);
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object(int depth) {
        deep(depth);
        Map<String, Object> fields = new LinkedHashMap<>();
        at++;
        blanks();
        if (peek() == '}') {
            at++;
            return fields;
        }
        while (true) {
            blanks();
            String name = string();
            if (name.startsWith("\0")) {
                throw fault("the name of a field begins with NUL");
            }
            blanks();
            take(':');
            if (fields.containsKey(name)) {
                throw fault("the field " + name + " is there twice");
            }
            fields.put(name, value(depth));
            blanks();
            if (peek() == '}') {
                at++;
                return fields;
            }
            take(',');
        }
    }

    private List<Object> list(int depth) {
        deep(depth);
        List<Object> values = new ArrayList<>();
        at++;
        blanks();
        if (peek() == ']') {
            at++;
            return values;
        }
        while (true) {
            values.add(value(depth));
            blanks();
            if (peek() == ']') {
                at++;
                return values;
            }
            take(',');
        }
    }

    private String string() {
        take('"');
        StringBuilder read = new StringBuilder();
        while (true) {
            char c = next();
            if (c == '"') {
                break;
            }
            if (c < ' ') {
                throw fault("a control character");
            }
            read.append(c == '\\' ? escaped() : c);
        }
        String whole = read.toString();
        if (whole.codePoints().anyMatch(point -> point >= 0xD800 && point <= 0xDFFF)) {
            throw fault("half a surrogate pair");
        }
        return whole;
    }

    private char escaped() {
        char c = next();
        switch (c) {
            case '"', '\\', '/':
                return c;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int code = 0;
                for (int i = 0; i < 4; i++) {
                    char hex = next();
                    int digit = hex < 128 ? Character.digit(hex, 16) : -1;
                    if (digit < 0) {
                        throw fault("four hex digits");
                    }
                    code = code * 16 + digit;
                }
                return (char) code;
            default:
                throw fault("an escape");
        }
    }

    private Object number() {
        int from = at;
        if (peek() == '-') {
            at++;
        }
        if (peek() == '0') {
            at++;
        } else {
            digits();
        }
        boolean whole = true;
        if (at < text.length() && text.charAt(at) == '.') {
            at++;
            digits();
            whole = false;
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            at++;
            if (peek() == '+' || peek() == '-') {
                at++;
            }
            digits();
            whole = false;
        }
        String read = text.substring(from, at);
        return whole && read.length() <= MOST_DIGITS ? new BigInteger(read) : new JsonNumber(read);
    }

    private void digits() {
        int from = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == from) {
            throw fault("a digit");
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw fault(word);
        }
        at += word.length();
        return value;
    }

    private void deep(int depth) {
        if (depth > DEEPEST) {
            throw fault("more than " + DEEPEST + " levels");
        }
    }

    private void blanks() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw fault("it ends");
        }
        return text.charAt(at);
    }

    private char next() {
        char c = peek();
        at++;
        return c;
    }

    private void take(char wanted) {
        if (next() != wanted) {
            throw fault("" + wanted);
        }
    }

    private IllegalArgumentException fault(String what) {
        return new IllegalArgumentException("no JSON at position " + at + ": " + what);
    }
}
