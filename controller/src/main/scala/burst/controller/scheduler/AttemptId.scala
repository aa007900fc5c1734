package burst.controller.scheduler

import burst.protocol.FlareId

/** One attempt of a flare; slots are held under this id. */
final case class AttemptId(flare: FlareId, attempt: Int)
