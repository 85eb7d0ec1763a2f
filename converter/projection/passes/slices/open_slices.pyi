import numpy as np
from numpy.typing import NDArray

class OpenSlices:
    def match(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        name: NDArray[np.int32],
        by_name: bool,
        in_turn: bool = False,
    ) -> NDArray[np.intp]:
        """Go on with events, of which those of step 1 begin and those of step 2 end a slice of a track and thread.

        An end that finds none of its name ends the innermost slice; where ends are `by_name`, none, and one that has no
        name is of any. Where they come `in_turn`, each ends the innermost, whatever its name.

        Returns:
            The places of ends that have another name than the slice that they end.

        """
    def close_innermost(
        self,
        steps: NDArray[np.int32],
        class_id: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        order: NDArray[np.int64] | None,
    ) -> NDArray[np.int64]:
        """Go on with events whose ends have no name and end the innermost slice, but for begins of what stays open.

        Classes have steps; `order` is that of time, None where events are in it.

        Returns:
            The places of these begins, in order, with which `match` has to go on.

        """

class NamedEnds:
    def name(
        self,
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        thread: NDArray[np.int32],
        order: NDArray[np.int64] | None,
        begins: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]],
        ends: dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]],
    ) -> tuple[int, int]:
        """Give ends of slices without a name that of the innermost slice of their thread; goes on from batch to batch.

        One with a name ends the innermost slice of that name, or none; one that has a category alone ends the innermost
        slice if that is its category, too.

        Args:
            class_id: of each event.
            row: of each event, among those of its class.
            thread: of each event.
            order: that of time, None where the events are in it.
            begins: ids of names and categories of slices that begin, by class.
            ends: of slices that end. Their names are replaced.

        Returns:
            The number of ends that were named, and the position of the first of them.

        Raises:
            ValueError: a row that its class does not have.

        """

class NestedSlices:
    def lines(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        ts: NDArray[np.int64],
        end: NDArray[np.int64],
        order: NDArray[np.int64],
    ) -> tuple[NDArray[np.int32], int, int]:
        """Go on with events in an order of time. Those of step 1 begin and those of step 2 end a slice of a track and
        thread; those of step 3 are complete slices until an `end`, which those of step 4 need an event for.

        Returns:
            Which line beside its track each complete slice nests on, 0 for the track; how many are on one because they
            cross an end, and how many should be, but are of an earlier batch.

        """
