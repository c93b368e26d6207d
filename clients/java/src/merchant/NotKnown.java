package merchant;

/** Nobody knows if a withdrawal was taken: ask again with the same outTradeNo. */
public final class NotKnown extends CallError {
    private static final long serialVersionUID = 1L;

    NotKnown(String message, CallError cause) {
        super(message, cause);
    }
}
