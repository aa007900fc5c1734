package burst.node

/** A process of the platform cannot work as configured. The message is one sentence that says what to do. */
class SetupException(message: String, cause: Throwable = null) extends RuntimeException(message, cause)
