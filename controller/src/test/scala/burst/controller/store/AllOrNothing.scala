package burst.controller.store

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}

extension (store: FlareStore)
  /** Waits for what is stored together. */
  def allOrNothing(work: => Unit): Unit =
    Await.result(store.together(ExecutionContext.global)(work), 30.seconds)
