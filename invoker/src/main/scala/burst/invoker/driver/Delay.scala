package burst.invoker.driver

import java.util.concurrent.{CompletableFuture, TimeUnit}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.FiniteDuration

private[driver] object Delay:
  /** Runs `action` after some time. */
  def after(time: FiniteDuration)(action: => Unit)(using executor: ExecutionContext): Unit =
    CompletableFuture
      .delayedExecutor(time.toMillis, TimeUnit.MILLISECONDS, executor.execute(_))
      .execute(() => action)
