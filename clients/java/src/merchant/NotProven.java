package merchant;

/**
 * An answer that does not prove to be the Signer's, and so is none: nobody knows what became of the request. Post the same again.
 */
public final class NotProven extends CallError {
    private static final long serialVersionUID = 1L;

    NotProven(String message, int status, Throwable cause) {
        super(message, status, null, null, null, null, cause);
    }
}
