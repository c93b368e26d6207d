package merchant;

/** A JSON number that is no integer, or has more than 1,000 digits: as it was written. */
public record JsonNumber(String text) {
    @Override
    public String toString() {
        return text;
    }
}
