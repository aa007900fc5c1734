package burst.controller.http

import burst.controller.definition.KindFamily
import burst.controller.deploy.{PackageInspector, PackageProblem, TarToZip}
import burst.controller.http.BodyIntake.Room
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Identity, Transfers}
import burst.protocol.RuntimeInfo
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext

/** Deploys of entities that have a program, which is inspected before it is stored. */
final class ProgramDeploys(
    deploys: Deploys,
    service: FlareService,
    tars: TarToZip,
    inspector: PackageInspector,
    transfers: Transfers
)(using ExecutionContext):
  import ProgramDeploys.*

  /** Reads a request's body and stores the result, replacing what is stored if the request says so, provided
    * that the machines can run its program. A tar is a zip from here on, also for callers that read the
    * program back.
    */
  def apply[A](caller: Identity, request: HttpRequest)(read: ByteString => Either[ApiError, A])(
      program: ProgramOf[A]
  )(store: (Boolean, A) => Either[ApiError, HttpResponse]): Answer =
    deploys(caller, request): (overwrite, taken) =>
      service.invokers().map(_.filter(_.up).map(_.status.runtime).distinct).flatMap: runtimes =>
        val most = caller.limits.packageBytes.min(taken.most)
        def checked(body: ByteString, room: Room) =
          read(body).flatMap(runnable(_, program, runtimes, most, room))
        taken.growingInTurn(checked)(found => moving(caller)(store(overwrite, found)))

  private def runnable[A](
      found: A,
      program: ProgramOf[A],
      runtimes: Iterable[RuntimeInfo],
      most: Long,
      room: Room
  ): Either[ApiError, A] = program.find(found) match
    case None => Right(found)
    case Some((sent, family)) =>
      for
        code <- zipped(sent, family, most, room)
        _ <- inspector
          .inspect(code.bytes, family, code.binary, runtimes)
          .left
          .map(ApiError.PackageRefused(_))
      yield program.replace(found, code)

  private def zipped(code: Code, family: KindFamily, most: Long, room: Room): Either[ApiError, Code] =
    if !(code.binary && TarToZip.takes(code.bytes, family)) then Right(code)
    else
      tars(code.bytes, most, room) match
        case Right(zip) => Right(code.copy(bytes = zip))
        case Left(TarToZip.NoRoom) => Left(ApiError.Busy)
        case Left(problem: PackageProblem) => Left(ApiError.PackageRefused(problem))

  /** Returns the threads for storing and deleting packages. A bucket may take long: no other namespace waits
    * for it.
    */
  def moving(caller: Identity): Blocking = Blocking(transfers.of(caller.namespace))

object ProgramDeploys:
  /** Finds and replaces the program in a request's body, if it has one. */
  final case class ProgramOf[A](find: A => Option[(Code, KindFamily)], replace: (A, Code) => A)
