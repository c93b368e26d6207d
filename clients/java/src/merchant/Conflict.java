package merchant;

/** The outTradeNo belongs to another payment: nothing was applied for. */
public final class Conflict extends CallError {
    private static final long serialVersionUID = 1L;

    private final transient Object withdrawId;

    Conflict(String message, Object withdrawId) {
        super(message, 200);
        this.withdrawId = withdrawId;
    }

    /** The withdrawal that has the number. */
    public Object withdrawId() {
        return withdrawId;
    }
}
