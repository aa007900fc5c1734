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

/** Deploys of what has a program, which is looked at before it is stored. */
final class ProgramDeploys(
    deploys: Deploys,
    service: FlareService,
    tars: TarToZip,
    inspector: PackageInspector,
    transfers: Transfers
)(using ExecutionContext):
  import ProgramDeploys.*

  /** Has what is read of a request's body stored, as said over what is there, if its program is one that the
    * machines can run. A tar is a zip from here on, also for who reads the program back.
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

  /** For what stores and deletes packages. A bucket may take long: no other namespace waits for it. */
  def moving(caller: Identity): Blocking = Blocking(transfers.of(caller.namespace))

object ProgramDeploys:
  /** Where in a request's body the program is, if there is one. */
  final case class ProgramOf[A](find: A => Option[(Code, KindFamily)], replace: (A, Code) => A)
