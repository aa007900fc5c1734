package burst.controller.scheduler

import burst.protocol.FlareId

/** One try of one flare: by it slots are held. */
final case class AttemptId(flare: FlareId, attempt: Int)
