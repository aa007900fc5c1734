package burst.controller.store

import burst.controller.blob.BlobName
import burst.controller.flare.{Flare, LogText, PhaseMark, WorkerResult}
import burst.controller.store.FlareChange.{LogPiece, Record}
import burst.protocol.FlareId
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}

/** Changes of one part of a flare. */
extension (store: FlareStore)
  def insert(flare: Flare, begun: Boolean = false, results: Vector[WorkerResult] = Vector.empty): Unit =
    val _ = store.write(FlareChange(flare.id, Record.New(flare, begun), results))

  /** Inserts a flare in a transaction with others that arrive at the same time. */
  def insertTogether(flare: Flare): Unit =
    val change = FlareChange(flare.id, Record.New(flare, begun = false))
    val _ = Await.result(store.write(change)(ExecutionContext.global), 30.seconds)

  def update(flare: Flare): Unit =
    val _ = store.write(FlareChange(flare.id, Record.Next(flare)))

  def addResults(id: FlareId, results: Vector[WorkerResult]): Unit =
    val _ = store.write(FlareChange(id, results = results))

  def addLogs(id: FlareId, texts: Vector[LogText], beside: Option[BlobName] = None): Boolean =
    store.write(FlareChange(id, logs = Vector(LogPiece(texts, beside))))

  def addPhases(id: FlareId, marks: Vector[PhaseMark]): Unit =
    val _ = store.write(FlareChange(id, phases = marks))
