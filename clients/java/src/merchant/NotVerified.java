package merchant;

/** The reason for which a signature, a callback or an answer is not accepted. Answer a callback with 401. */
public final class NotVerified extends Exception {
    private static final long serialVersionUID = 1L;

    NotVerified(String message) {
        super(message);
    }

    NotVerified(String message, Throwable cause) {
        super(message, cause);
    }
}
